"""What the tests of the flow dialect share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import moxing.flow as flow
from moxing.flow.runtime import session
from moxing.flow.trace import context


@pytest.fixture(autouse=True)
def _own_session() -> Iterator[None]:
    """No jobs, no settings and no counted operations of another test."""
    _begin({})
    yield
    _begin({})


def _begin(settings: dict[str, Any]) -> None:
    flow.clear_default_session()
    session.default().settings.values = settings
    context.numbers.next = 0


@pytest.fixture
def devices() -> Callable[[int], None]:
    """Begins a session on that many devices."""
    return lambda count: _begin({"gpu_device_num": count})


@pytest.fixture
def plain_count() -> Callable[[], Any]:
    """The function of a train job that adds 1 to w at each step, and returns its value before."""

    def count() -> Any:
        flow.config.train.primary_lr(1.0)
        flow.config.train.model_update_conf({"naive_conf": {}})
        w = flow.get_variable("w", (1,), initializer=flow.zeros_initializer())
        flow.losses.add_loss(w * -1.0)
        return w

    return count


@pytest.fixture
def count(plain_count: Callable[[], Any]) -> Any:
    """A train job that returns how often it was called before."""
    return flow.function(plain_count)
