"""`%load_ext moxing`: cells and `%run` see TensorFlow 1.x, in a real IPython shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("IPython")

CELLS = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in (
    "%load_ext moxing",
    "import tensorflow as tf",
    "from tensorflow.contrib import slim\\nimport helper",
    "x = tf.placeholder(tf.float32, [2]); w = tf.get_variable('w', [2])",
    "s = tf.Session(); s.run(tf.global_variables_initializer()); print('w', s.run('w:0').shape)",
    "print('helper', helper.tf is tf)",
    "%run train.py --steps=7 --num_gpus=2",
    "import tensorflow.contrib.slim as again; print('again', again is slim, 'found', found)",
    "%load_ext moxing",
    "print('shell', get_ipython() is not None)",
):
    done = shell.run_cell(cell)
    assert done.success, (cell, done.error_in_exec, done.error_before_exec)
"""


@pytest.mark.slow
def test_cells_and_run(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("import tensorflow as tf\n")
    (tmp_path / "train.py").write_text(
        "import sys\nimport tensorflow as tf\nfrom tensorflow.contrib import slim\n"
        "tf.flags.DEFINE_integer('steps', 1, '')\n"
        "found = (tf.flags.FLAGS.steps, __name__, sys.argv[1:])\n"
    )
    (tmp_path / "cells.py").write_text(CELLS)
    done = subprocess.run(
        [sys.executable, "cells.py"],
        cwd=tmp_path,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "IPYTHONDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line]
    assert lines == [
        "w (2,)",
        "helper True",
        "again True found (7, '__main__', ['--steps=7'])",
        "The moxing extension is already loaded. To reload it, use:",
        "  %reload_ext moxing",
        "shell True",
    ]


MISTAKES = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
for cell in (
    "%load_ext moxing",
    "import tensorflow as tf\\nx = tf.placeholder(tf.float32, [None, 3])",
    "s = tf.Session()\\ny = tf.layers.dense(x, 2)",
    "s.run(2 * x)",
    "tf.matmul(x, tf.zeros([4, 2]))",
    "import nothing",
    "1 / 0",
):
    print("CELL", cell.splitlines()[0])
    error = shell.run_cell(cell).error_in_exec
    if cell.startswith("s.run"):
        print("WHOLE", "Detected at" in error.message, error.op.name, error.__context__ is not None)
"""


@pytest.mark.slow
def test_mistakes_in_cells_are_told_by_their_lines(tmp_path: Path) -> None:
    (tmp_path / "cells.py").write_text(MISTAKES)
    done = subprocess.run(
        [sys.executable, "cells.py"],
        cwd=tmp_path,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "IPYTHONDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    shown = done.stdout
    assert done.returncode == 0, shown + done.stderr
    assert "deprecated" not in shown + done.stderr
    assert "site-packages" not in shown
    assert "importer.py" not in shown
    cells = shown.split("CELL ")
    unfed, shapes, missing, zero = cells[-4:]
    assert "You must feed a value" in unfed
    assert ": x = tf.placeholder(tf.float32, [None, 3])). Feed it: session.run(" in unfed
    # A program that looks at the error later finds it unchanged.
    assert "WHOLE True Placeholder True" in unfed
    assert "with input shapes: [?,3], [4,2]" in shapes
    assert "----> 1 import nothing" in missing
    assert "left out" not in zero


def test_tensorflow_must_not_be_there_before() -> None:
    import tensorflow  # noqa: F401

    import moxing
    from moxing.errors import MoxRuntimeError

    with pytest.raises(MoxRuntimeError, match="Restart the kernel and make %load_ext moxing the"):
        moxing.load_ipython_extension(object())
