"""The API of before September 2019: settings for `flow.init`, `flow.add_job` and `flow.Session`.

Its jobs are those of `flow.function`: here functions are added by name, and run by a session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from moxing.errors import MoxRuntimeError, MoxTypeError, MoxValueError, shown
from moxing.flow.config import config
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
        if session.default().started:
            session.default().in_order(lambda native: None)
