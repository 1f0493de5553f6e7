"""`flow.deprecated`: names of the oldest programs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moxing.flow import absent
from moxing.flow.older.builder import get_cur_job_dlnet_builder as get_cur_job_dlnet_builder
from moxing.flow.trace import context


@contextmanager
def variable_scope(name: str) -> Iterator[None]:
    """Puts `name-` before the names of variables and operations inside."""
    trace = context.required("flow.deprecated.variable_scope")
    trace.prefixes.append(name)
    try:
        yield
    finally:
        trace.prefixes.pop()


def init_worker(*args: Any, **kwargs: Any) -> None:
    """Does nothing: each machine runs the program itself."""


init_worker_and_master = init_worker


def delete_worker(*args: Any, **kwargs: Any) -> None:
    """Does nothing."""


__getattr__, __dir__ = absent.of("flow.deprecated", globals(), absent.DEPRECATED)
