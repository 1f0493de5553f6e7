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
