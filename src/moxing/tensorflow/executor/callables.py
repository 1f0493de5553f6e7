"""Calls a program's functions with as many arguments as they take."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from moxing.engine.wording.user_calls import location
from moxing.errors import MoxTypeError

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def positional(role: str, function: Callable[..., Any], offered: int) -> Callable[..., Any]:
    """Wraps `function` to accept `offered` positional arguments, and to drop the surplus ones.

    Programs define `input_fn(mode)`, `input_fn(mode, **kwargs)` or `input_fn()`, with arbitrary
    parameter names, so the arguments are passed by position. A parameter with a default value, as
    in `input_fn(path=path)`, keeps the default unless "mode" is in its name.

    Args:
        role: the name of the argument of `mox.run`, such as "input_fn".
        function: a function, bound method, partial, lambda or callable object.
        offered: the number of arguments that the caller passes.

    Raises:
        MoxTypeError: the function requires more arguments.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return function
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        return function
    taken = [parameter for parameter in parameters if parameter.kind in _POSITIONAL]
    needed = [p for p in taken if p.default is inspect.Parameter.empty]
    named = [
        p.name
        for p in parameters
        if p.kind is inspect.Parameter.KEYWORD_ONLY and p.default is inspect.Parameter.empty
    ]
    if len(needed) > offered or named:
        asked = ", ".join([p.name for p in needed] + named)
        raise MoxTypeError(
            f"{role} {location(function)} demands the arguments ({asked}), but it is called by"
            f" position with {offered}: {_CALLS[role]}."
        )
    count = len(needed)
    while count < min(len(taken), offered) and _is_wanted(role, taken[count].name, count):
        count += 1
    if count >= offered:
        return function

    def call(*arguments: Any) -> Any:
        return function(*arguments[:count])

    return presented_as(function, call)


def _is_wanted(role: str, name: str, position: int) -> bool:
    """Whether a parameter with a default is meant for the argument at that position."""
    return "mode" in name.lower() or (position == 0 and role != "input_fn")


def presented_as(original: Callable[..., Any], wrapper: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `wrapper`, which messages show under the name and line of `original`."""
    wrapper.__wrapped__ = original  # type: ignore[attr-defined]
    return wrapper


_CALLS = {
    "input_fn": "input_fn(mode)",
    "model_fn": "model_fn(inputs, mode)",
    "optimizer_fn": "optimizer_fn()",
    "output_fn": "output_fn(outputs)",
}
