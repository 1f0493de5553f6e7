"""Small utilities under the names that old scripts import."""

from __future__ import annotations

import logging

import pytest

from moxing.errors import MoxTypeError
from moxing.framework.util import runtime
from moxing.framework.util.compat import as_str


def test_as_str() -> None:
    assert as_str("ü") == "ü"
    assert as_str("ü".encode()) == "ü"
    assert as_str(b"\xe4", "latin-1") == "ä"
    with pytest.raises(MoxTypeError) as error:
        as_str(3)  # type: ignore[arg-type]
    assert str(error.value) == "as_str() takes bytes or str, not int: 3"


def test_reset_logger() -> None:
    root = logging.getLogger()
    kept = (root.handlers[:], root.level)
    try:
        runtime.reset_logger(logging.WARNING)
        assert type(root.handlers[0]).__name__ == "_StderrHandler"
        assert root.level == logging.WARNING
        runtime.reset_logger()
        assert root.level == logging.INFO
    finally:
        root.handlers[:] = kept[0]
        root.setLevel(kept[1])
