"""Exactly one console handler, whatever was there before."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import io, logging
from moxing import logs
own = logging.StreamHandler(io.StringIO())
logging.basicConfig()
logging.getLogger().addHandler(own)
logging.getLogger("tensorflow").addHandler(logging.StreamHandler())
for _ in range(2):
    logs.reset_logger()
assert len(logging.getLogger().handlers) == 2, logging.getLogger().handlers
assert logging.getLogger().handlers[1] is own
logging.getLogger("tensorflow").info("once")
logging.getLogger("tensorflow").warning("x is deprecated.\\nInstructions for updating:\\nUse y")
logging.getLogger().info("root")
"""


def run(silent: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=60,
        env={"MOX_SILENT_MODE": silent},
        check=True,
    )
    return done.stderr


def test_each_line_is_printed_once_in_the_known_format() -> None:
    assert run("") == "INFO:tensorflow:once\nINFO:root:root\n"


def test_silent_mode_prints_warnings_only() -> None:
    assert run("1") == ""
