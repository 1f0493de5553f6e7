"""`flow.function` and `flow.global_function`: decorators that make functions jobs."""

from __future__ import annotations

from typing import Any

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.flow.config import FunctionConfig
from moxing.flow.runtime.jobs import Job
from moxing.flow.trace import context, spelling
from moxing.flow.trace.conf import KINDS, FunctionDesc, JobConf


@spelling.also(function_config="given", job_func="given")
def function(given: Any = None) -> Any:
    """Makes a function a job: `@flow.function`, or `@flow.function(config)`.

    The session runs it once, at its start, to make its graph. A call of the job runs a step of that
    graph and returns a `Handle`, or None if the function returns None.

    Args:
        given: the function, or a `FunctionConfig`.
    """
    if isinstance(given, FunctionConfig):
        return lambda inner: Job(inner, given.conf)
    if given is None:
        return lambda inner: Job(inner, None)
    if given is FunctionConfig:
        raise MoxTypeError("flow.function was given FunctionConfig itself: write FunctionConfig().")
    if not callable(given):
        raise MoxTypeError(f"flow.function takes a function or FunctionConfig, not {shown(given)}.")
    return Job(given, None)


def global_function(
    *given: Any, function_config: FunctionConfig | None = None, type: str | None = None
) -> Any:
    """`@flow.global_function(config)`: the later spelling of `@flow.function(config)`.

    Args:
        given: a `FunctionConfig`, a type, or both in either order.
        function_config: the `FunctionConfig`, by name.
        type: "train" or "predict"; by default, a job whose config or body has training settings is
            a train job. A predict job ignores a config's training settings.

    Raises:
        MoxTypeError: an argument has another type.
        MoxValueError: no such type.
    """
    if len(given) == 1 and callable(given[0]):
        return function(given[0])
    named = [item for item in (function_config, type) if item is not None]
    kinds = [item for item in (*given, *named) if isinstance(item, str)]
    confs = [item for item in (*given, *named) if isinstance(item, FunctionConfig)]
    others = [item for item in (*given, *named) if not isinstance(item, str | FunctionConfig)]
    if any(item is not None for item in others) or len(kinds) > 1 or len(confs) > 1:
        items = ", ".join(map(shown, (*given, *named)))
        raise MoxTypeError(
            f"flow.global_function takes a FunctionConfig and a type, not {items}. Write"
            " @flow.global_function(config)."
        )
    if kinds and kinds[0] not in KINDS:
        raise MoxValueError(
            f"flow.global_function: type={shown(kinds[0])}; it is 'train' or 'predict'."
        )
    conf = confs[0].conf.copy() if confs else JobConf()
    conf.kind, conf.later, conf.is_global = kinds[0] if kinds else None, True, True
    return lambda inner: Job(inner, conf)


def current_global_function_desc() -> FunctionDesc:
    """The settings of the job whose function is running.

    Raises:
        MoxRuntimeError: no job is being traced.
    """
    trace = context.required("flow.current_global_function_desc")
    return FunctionDesc(trace.conf, trace.name)
