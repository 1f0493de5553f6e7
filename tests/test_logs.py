"""Exactly one console handler, whatever was there before."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import subprocess
import sys

from moxing import logs

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


_LIBRARY = """
import io, logging, sys
from moxing import logs
{setup}
logs.settle()
logging.getLogger("tensorflow").info("line")
logging.getLogger("other").info("not asked for")
"""


def _settled(setup: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", _LIBRARY.format(setup=setup)],
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    return done.stdout, done.stderr


def test_a_programs_own_handlers_and_level_stay() -> None:
    setup = "logging.basicConfig(stream=sys.stdout, format='{{%(message)s}}')"
    assert _settled(setup.replace("{{", "{").replace("}}", "}")) == ("{line}\n", "")


def test_where_nobody_has_set_up_logging_lines_go_to_stderr() -> None:
    assert _settled("") == ("", "INFO:tensorflow:line\nINFO:other:not asked for\n")


def test_under_mox_run_a_program_of_another_dialect_has_its_lines_too() -> None:
    assert _settled("logs.take_over()")[1].startswith("INFO:tensorflow:line\n")


def test_a_level_that_the_program_has_set_stays() -> None:
    setup = "logging.getLogger('tensorflow').setLevel('ERROR')"
    assert _settled(setup) == ("", "INFO:other:not asked for\n")


def test_absls_handler_is_replaced() -> None:
    setup = "from absl import logging as a; a.use_absl_handler()"
    assert _settled(setup)[1].startswith("INFO:tensorflow:line\n")


def run(silent: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=240,
        env={"MOX_SILENT_MODE": silent},
        check=True,
    )
    return done.stderr


def test_each_line_is_printed_once_in_the_known_format() -> None:
    assert run("") == "INFO:tensorflow:once\nINFO:root:root\n"


def test_silent_mode_prints_warnings_only() -> None:
    assert run("1") == ""


def test_names_from_outside_do_not_steer_the_terminal_by_lines_of_openmox() -> None:
    handler = logs._StderrHandler()
    logger = logging.Logger("tensorflow")
    logger.addHandler(handler)
    # TensorFlow's logger names the file of a caller further up.
    logger.findCaller = lambda *_: ("/home/me/train.py", 1, "main", None)

    def line(file: str, text: str) -> str:
        """What a module of that file logs."""
        code = compile("logger.warning(text)", file, "exec")
        with contextlib.redirect_stderr(io.StringIO()) as told:
            exec(code, {"logger": logger, "text": text})
        return told.getvalue()

    own = line(f"{os.path.dirname(logs.__file__)}/x.py", "no \x1b[31mx\n\tline")
    assert own == "WARNING:tensorflow:no \\x1b[31mx\n\tline\n"
    forged = line(f"{os.path.dirname(logs.__file__)}/x.py", "a\nINFO:tensorflow:b")
    assert forged == "WARNING:tensorflow:a\n  INFO:tensorflow:b\n"
    assert line("/home/me/a.py", "\x1b[32mgreen") == "WARNING:tensorflow:\x1b[32mgreen\n"
