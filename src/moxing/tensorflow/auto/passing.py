"""Passes a ParamSpec to the program's functions that accept one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from moxing.engine.job.job import Result
from moxing.errors import MoxTypeError, shown
from moxing.tensorflow.auto.params import ParamSpec
from moxing.tensorflow.executor import run as executor

_NAME = "param_spec"
_FUNCTIONS = ("input_fn", "model_fn", "optimizer_fn", "output_fn")


def run(*args: Any, param_spec: ParamSpec | None = None, **kwargs: Any) -> Result:
    """Calls `mox.run` with functions that get hyper-parameters.

    A function with `**kwargs` or a parameter `param_spec` gets the spec as `param_spec`; other
    functions are called without it.

    Args:
        *args, **kwargs: the arguments of `mox.run`.
        param_spec: the result of `mox.auto.search`, or a ParamSpec that the program made.

    Returns:
        The result of `mox.run`.

    Raises:
        MoxTypeError: param_spec is not a ParamSpec.
        MoxError: see `mox.run`.
    """
    if param_spec is None:
        return executor.run(*args, **kwargs)
    check(_NAME, param_spec)
    try:
        given = inspect.signature(executor.run).bind(*args, **kwargs)
    except TypeError as error:
        raise MoxTypeError(f"mox.auto.run: {error}.") from error
    for name in _FUNCTIONS:
        if name in given.arguments:
            given.arguments[name] = with_spec(given.arguments[name], param_spec)
    return executor.run(*given.args, **given.kwargs)


def with_spec(function: Any, spec: ParamSpec) -> Any:
    """Binds the spec to a function, or to each function of a list, that accepts one."""
    if isinstance(function, list | tuple):
        return [with_spec(item, spec) for item in function]
    return functools.partial(function, param_spec=spec) if _takes_one(function) else function


def check(name: str, spec: Any) -> ParamSpec:
    """Returns the spec if it is a ParamSpec; raises a MoxTypeError otherwise."""
    if not isinstance(spec, ParamSpec):
        raise MoxTypeError(
            f"{name}={shown(spec)}: it must be a mox.auto.ParamSpec, such as"
            " mox.auto.ParamSpec(learning_rate=0.1)."
        )
    return spec


def _takes_one(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return True
    found = parameters.get(_NAME)
    return found is not None and found.kind is not inspect.Parameter.POSITIONAL_ONLY
