"""A mistake in a program's own session is told by the program's line, not by stacks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import warm

LABEL = """
import numpy as np
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 3])
y = tf.placeholder(tf.int32, [None])
loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x)
with tf.Session() as session:
    session.run(loss, {x: np.ones([2, 3]), y: [1, 5]})
"""
UNFED = """
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 3])
with tf.Session() as session:
    session.run(2 * x)
"""
FULL = """
import tensorflow as tf
x = tf.random_uniform([3000000, 1000000])
with tf.Session() as session:
    session.run(tf.reduce_sum(x))
"""
OTHER_NAME = """
import tensorflow as tf
tf.Variable(1., name="old")
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    tf.train.Saver().save(session, "./model")
tf.reset_default_graph()
tf.Variable(1., name="new")
with tf.Session() as session:
    tf.train.Saver().restore(session, "./model")
"""
NUMBER = """
import tensorflow as tf
loss = tf.constant(1.)
with tf.Session() as session:
    loss = session.run(loss)
    loss = session.run(loss)
"""


def _shown(folder: Path, source: str, debug: str = "0") -> list[str]:
    (folder / "train.py").write_text(source)
    done = warm.run(
        [sys.executable, "-m", "moxing", "run", "train.py"],
        cwd=folder,
        env={**warm.os.environ, "MOX_DEBUG": debug},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 1
    return [line for line in str(done.stderr).splitlines() if "left out" not in line]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "words", "last"),
    [
        (
            LABEL,
            "Received a label value of 5",
            "(train.py:6: loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y,"
            " logits=x)), of float32 [?, 3], int32 [?].",
        ),
        (
            UNFED,
            "You must feed a value for placeholder tensor",
            "(train.py:3: x = tf.placeholder(tf.float32, [None, 3])). Feed it: session.run(...,"
            " feed_dict={placeholder: value}).",
        ),
        (FULL, "OOM when allocating", " To need less, lower the batch size."),
        (OTHER_NAME, "Key new not found", ': tf.train.Saver().restore(session, "./model")).'),
        (NUMBER, "has invalid type", "train.py:6: loss = session.run(loss)"),
    ],
)
def test_the_line_of_the_program_stands_last(
    tmp_path: Path, source: str, words: str, last: str
) -> None:
    lines = _shown(tmp_path, source)
    shown = "\n".join(lines)

    assert lines[-1].endswith(last), shown
    assert words in shown
    assert "site-packages" not in shown
    assert "During handling" not in shown
    assert len(lines) < 12


@pytest.mark.slow
def test_debugging_shows_all_stacks(tmp_path: Path) -> None:
    shown = "\n".join(_shown(tmp_path, LABEL, debug="1"))

    assert "Original stack trace" in shown
    assert "site-packages" in shown
