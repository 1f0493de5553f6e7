"""An error of a user's function in a cell shows the user's lines, in a real IPython shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("IPython")

_CELLS = '''
import sys
import traceback

from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="nocolor")
shell.run_cell("""
from moxing.engine.reporting import cell_errors
from moxing.engine.wording import user_calls

def model_fn(divisor):
    return 7 // divisor

def run(function, given):
    try:
        user_calls.call("model_fn", function, given, about="mode TRAIN")
    except Exception as error:
        cell_errors.folds(error)
        raise
""")
shell.run_cell(sys.argv[1])
print("WHOLE", [frame.name for frame in traceback.extract_tb(sys.last_value.__traceback__)][-3:])
'''


def _shown(tmp_path: Path, cell: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _CELLS, cell],
        env={**os.environ, "IPYTHONDIR": str(tmp_path), "MOX_DEBUG": "", **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


def test_frames_of_libraries_are_left_out(tmp_path: Path) -> None:
    shown = _shown(tmp_path, "run(model_fn, 0)")

    assert "return 7 // divisor" in shown
    assert "ZeroDivisionError" in shown
    assert "openmox: raised while calling model_fn" in shown
    assert "left out; MOX_DEBUG=1 shows all)" in shown
    assert "user_calls.py" not in shown
    assert "WHOLE ['run', 'call', 'model_fn']" in shown  # As %debug finds it.


def test_all_frames_on_request(tmp_path: Path) -> None:
    shown = _shown(tmp_path, "run(model_fn, 0)", MOX_DEBUG="1")

    assert "user_calls.py" in shown
    assert "left out" not in shown


def test_an_error_that_openmox_itself_raised_keeps_its_frames(tmp_path: Path) -> None:
    shown = _shown(tmp_path, "run(None, 0)")

    assert "TypeError: 'NoneType' object is not callable" in shown
    assert "user_calls.py" in shown


def test_causes_are_folded_too(tmp_path: Path) -> None:
    cell = (
        "def outer(divisor):\n    try:\n        user_calls.call('inner', model_fn, divisor,"
        " about='')\n    except ZeroDivisionError as error:\n        raise ValueError('bad')"
        " from error\n\nrun(outer, 0)"
    )

    shown = _shown(tmp_path, cell)

    assert "direct cause of the following exception" in shown
    assert "user_calls.py" not in shown
