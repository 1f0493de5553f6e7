"""What the tests of the flow dialect share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import moxing.flow as flow
from moxing.flow.settings import MACHINE


@pytest.fixture(autouse=True)
def _own_session() -> Iterator[None]:
    """No jobs of another test."""
    flow.clear_default_session()
    yield
    flow.clear_default_session()


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Begins a session on that many devices."""

    def begin(count: int) -> None:
        flow.clear_default_session()
        monkeypatch.setitem(MACHINE.values, "gpu_device_num", count)

    return begin
