"""The API of before September 2019: settings for `flow.init`, `flow.add_job` and `flow.Session`.

Its jobs are those of `flow.function`: here functions are added by name, and run by a session. The
settings of a job are in conf.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from moxing.errors import MoxRuntimeError, MoxTypeError, MoxValueError, shown
from moxing.flow.config import config
from moxing.flow.older.conf import get_cur_job_conf_builder as get_cur_job_conf_builder
from moxing.flow.runtime import session
from moxing.flow.runtime.calls import Handle
from moxing.flow.runtime.jobs import Job

_jobs: dict[Callable[..., Any], Job] = {}


class ConfigProtoBuilder:
    """Collects settings, by the names of the setters of `flow.config`."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], Any]] = []

    def __getattr__(self, name: str) -> Callable[..., ConfigProtoBuilder]:
        if name.startswith("_"):
            raise AttributeError(name)
        setter = getattr(config, name)

        def collect(*values: Any, **named: Any) -> ConfigProtoBuilder:
            self._calls.append(lambda: setter(*values, **named))
            return self

        return collect

    def apply(self) -> None:
        """Makes the settings."""
        for call in self._calls:
            call()


def init(config_proto: ConfigProtoBuilder | None = None) -> None:
    """Makes the settings of a `ConfigProtoBuilder`; the session starts with its first job.

    Raises:
        MoxTypeError: the value is no `ConfigProtoBuilder`.
    """
    if config_proto is None:
        return
    if not isinstance(config_proto, ConfigProtoBuilder):
        raise MoxTypeError(f"flow.init takes a ConfigProtoBuilder, not {shown(config_proto)}.")
    config_proto.apply()


def add_job(job_func: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function a job, which `flow.Session().run` runs; returns the function.

    Raises:
        MoxTypeError: the value is no function.
    """
    if not callable(job_func) or isinstance(job_func, Job):
        raise MoxTypeError(f"flow.add_job takes a function, not {shown(job_func)}.")
    for function in [f for f, job in _jobs.items() if job.session is not session.default()]:
        del _jobs[function]  # Of sessions that are closed.
    _jobs[job_func] = Job(job_func, None)
    return job_func


class Results:
    """The results of `Session.map`, in the order of its inputs."""

    def __init__(self, handles: Sequence[Handle | None]) -> None:
        self._handles = handles

    def get(self) -> list[Any]:
        """Waits for all results."""
        return [None if handle is None else handle.get() for handle in self._handles]

    def async_get(self, callback: Callable[[list[Any]], None]) -> None:
        """Lets a thread of the session call `callback` with the list of all results.

        Raises:
            MoxTypeError: `callback` is no function.
            MoxRuntimeError: the job returns nothing.
        """
        handles = [handle for handle in self._handles if handle is not None]
        if len(handles) < len(self._handles):
            raise MoxRuntimeError(
                "flow.Session.map(...).async_get: the job returns nothing, so that there is no"
                " result to call a function with. Return a blob in the job."
            )
        if not callable(callback):
            raise MoxTypeError(f"async_get takes a function, not {shown(callback)}.")
        results: list[Any] = []

        def take(result: Any) -> None:  # One thread of the session calls it, in the steps' order.
            results.append(result)
            if len(results) == len(handles):
                callback(results)

        for handle in handles:
            handle.async_get(take)


class Box:
    """Holds a value: `handle.async_get(box.value_setter)`, and later `box.value`."""

    def __init__(self, *value: Any) -> None:
        """Args: value: the first value, if any.

        Raises:
            MoxTypeError: there are several values.
        """
        if len(value) > 1:
            raise MoxTypeError(f"flow.Box takes one value, and was given {len(value)}.")
        self._values = list(value)

    @property
    def value(self) -> Any:
        """The value.

        Raises:
            MoxRuntimeError: no value was set.
        """
        if not self._values:
            raise MoxRuntimeError(
                "flow.Box has no value yet: wait for the step, as Session.sync() does, or give it"
                " one: flow.Box(value)."
            )
        return self._values[0]

    @property
    def value_setter(self) -> Callable[[Any], None]:
        """A function that sets the value."""
        return self.set_value

    def set_value(self, val: Any) -> None:
        """Sets the value."""
        self._values[:] = [val]

    def has_value(self) -> bool:
        """Whether a value was set."""
        return bool(self._values)


_STRATEGIES = (
    *("mem_sharing_priority", "parallelism_priority", "custom_parallelism"),
    "reuse_mem_priority",
)


def job_mem_sharing_strategy(strategy_str: str, job_set: None = None, **kwargs: Any) -> None:
    """Accepted without effect: TensorFlow plans the memory of each step.

    Raises:
        MoxValueError: the strategy is none of the original's.
    """
    del job_set, kwargs
    if strategy_str not in _STRATEGIES:
        raise MoxValueError(
            f"flow.job_mem_sharing_strategy({shown(strategy_str)}): give one of"
            f" {', '.join(_STRATEGIES)}."
        )


inter_job_reuse_mem_strategy = job_mem_sharing_strategy


def sync_default_session() -> None:
    """Waits until all queued steps have ended."""
    if session.default().started:
        session.default().in_order(lambda native: None)


def reset_default_job_set() -> None:
    """Forgets the functions that were added, and begins a session."""
    session.clear_default_session()


class Session:
    """Runs jobs, as a block: at its end, all steps that it queued have ended."""

    def __init__(self, jobs: Iterable[Callable[..., Any]] = ()) -> None:
        """Args: jobs: functions that are no jobs yet."""
        for function in jobs:
            add_job(function)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.sync()

    def run(self, job_func: Callable[..., Any], *args: Any) -> Handle | None:
        """Queues a step of a job.

        Raises:
            MoxRuntimeError: `add_job` did not get the function in this session.
        """
        job = job_func if isinstance(job_func, Job) else _jobs.get(job_func)
        if job is None or job.session is not session.default():
            name = getattr(job_func, "__name__", shown(job_func))
            raise MoxRuntimeError(
                f"flow.Session.run: {name} is no job of this session. Call flow.add_job({name})"
                " before the session's first run."
            )
        return job(*args)

    def no_return_run(self, job_func: Callable[..., Any], *args: Any) -> None:
        """Queues a step of a job whose result nobody needs."""
        self.run(job_func, *args)

    def map(self, job_func: Callable[..., Any], feed_data: Iterable[Any]) -> Results:
        """Queues a step for each item: an array, or a list or tuple of a job's arguments.

        Raises:
            MoxValueError: there is no item.
        """
        items = [item if isinstance(item, list | tuple) else [item] for item in feed_data]
        if not items:
            raise MoxValueError("flow.Session.map: feed_data has no items.")
        return Results([self.run(job_func, *item) for item in items])

    def sync(self) -> None:
        """Waits until all queued steps have ended."""
        sync_default_session()
