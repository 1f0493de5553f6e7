"""What runs print, and data to run on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[str], list[str]]]:
    """`said("step:")`: the messages of TensorFlow's logger so far that hold this text."""

    def messages(text: str = "") -> list[str]:
        found = [record for record in caplog.records if record.name == "tensorflow"]
        return [record.getMessage() for record in found if text in record.getMessage()]

    with caplog.at_level(logging.INFO, "tensorflow"):
        yield messages
