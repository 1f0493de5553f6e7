"""What the tests of the engine share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from zygote import Zygote  # noqa: E402


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """Starts processes that have imported TensorFlow."""
    started = Zygote()
    yield started
    started.close()


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What is logged from INFO on, under the logger that users grep for."""
    with caplog.at_level("INFO", logger="tensorflow"):
        yield caplog
