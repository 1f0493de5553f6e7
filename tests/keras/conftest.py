"""What the tests of the Keras dialect share."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import moxing.keras  # noqa: F401

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[str], list[str]]]:
    """`said("best")`: the messages of TensorFlow's logger so far that hold this text."""

    def messages(text: str = "") -> list[str]:
        found = [record for record in caplog.records if record.name == "tensorflow"]
        return [record.getMessage() for record in found if text in record.getMessage()]

    with caplog.at_level(logging.INFO, "tensorflow"):
        yield messages
