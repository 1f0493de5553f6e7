"""Functions of ported files run as they were ported, also where AutoGraph would read them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MAIN = """
import tensorflow as tf
from helper import halves

found = tf.data.Dataset.range(1).map(halves)
with tf.Session() as session:
    print("%d" % session.run(found.make_one_shot_iterator().get_next()))
"""
HELPER = """
SIZES = {"a": 7}


def halves(value):
    return value + sum([size / 2 for size in SIZES.values()]) + len(map(abs, [1]))
"""


def test_a_function_of_a_dataset_divides_as_python_2_did(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(MAIN)
    (tmp_path / "helper.py").write_text(HELPER)
    done = subprocess.run(
        [sys.executable, "-m", "moxing", "run", "main.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "4"
