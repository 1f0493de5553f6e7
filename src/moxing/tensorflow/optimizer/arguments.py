"""Checks keyword arguments against the constructor that will get them, before it is called."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from moxing.errors import MoxTypeError, near_matches


def check_arguments(
    what: str, cls: type, args: Sequence[Any], kwargs: Mapping[str, Any], hidden: str = "name"
) -> None:
    """Refuses arguments that `cls(first, *args, **kwargs)` would not take, or lacks.

    Args:
      what: the start of the message, such as `"get_optimizer_fn: optimizer 'adam'"`.
      cls: the class, to whose constructor the caller passes the first argument.
      args: the positional arguments after the first.
      kwargs: the keyword arguments.
      hidden: an argument that can't be given by keyword, because the caller has an argument of
        the same name.

    Raises:
      MoxTypeError: an argument is wrong or missing; the message lists the legal ones.
    """
    parameters = list(inspect.signature(cls.__init__).parameters.values())[2:]
    legal = sorted(parameter.name for parameter in parameters if parameter.name != hidden)
    for keyword in kwargs:
        if keyword not in legal:
            raise MoxTypeError(
                f"{what} has no argument {keyword!r}.{near_matches(keyword, legal)} "
                f"It takes: {', '.join(legal)}."
            )
    try:
        inspect.Signature(parameters).bind(*args, **kwargs)
    except TypeError as error:
        raise MoxTypeError(f"{what}: {error}. It takes: {', '.join(legal)}.") from None
