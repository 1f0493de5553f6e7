"""`tf.flags`: the functions of `absl.flags`, with the argument names of TensorFlow 1.4 too."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from absl import flags as absl_flags

from moxing.errors import MoxValueError
from moxing.legacy.flags.tolerant_flags import TolerantFlags

# Attribute definitions to the calling module, not to this one, so that help lists them there.
absl_flags.disclaim_key_flags()

_OLD_NAMES = {"flag_name": "name", "default_value": "default", "docstring": "help"}


def names(flags: TolerantFlags) -> dict[str, Callable[[], Any]]:
    """Returns the names of `tf.flags` that replace absl's: every DEFINE function, and FLAGS.

    Args:
        flags: the flags to which definitions are added.
    """
    found: dict[str, Callable[[], Any]] = {"FLAGS": lambda: flags}
    for name in dir(absl_flags):
        if name.startswith("DEFINE"):
            define = _define(getattr(absl_flags, name), flags)
            found[name] = functools.partial(lambda function: function, define)
    return found


def _define(function: Callable[..., Any], flags: TolerantFlags) -> Callable[..., Any]:
    parameters = list(inspect.signature(function).parameters)
    place = parameters.index("flag_values") if "flag_values" in parameters else len(parameters)

    @functools.wraps(function)
    def define(*args: Any, **kwargs: Any) -> Any:
        for old, new in _OLD_NAMES.items():
            if old in kwargs:
                kwargs[new] = kwargs.pop(old)
        if len(args) <= place:
            kwargs.setdefault("flag_values", flags)
        if function is absl_flags.DEFINE_integer:
            args, kwargs = _whole_default(args, kwargs)
        try:
            return function(*args, **kwargs)
        except absl_flags.IllegalFlagValueError as error:
            raise MoxValueError(f"the default does not fit: {error}") from error

    return define


def _whole_default(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Converts an integer flag's default that is written as 1e5 to an int."""
    default = args[1] if len(args) > 1 else kwargs.get("default")
    if isinstance(default, float) and default.is_integer():
        if len(args) > 1:
            return (args[0], int(default), *args[2:]), kwargs
        return args, {**kwargs, "default": int(default)}
    return args, kwargs
