"""Sums behind products get their own operand, also where TensorFlow fuses the operations."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph.rewrites import fused_sums

Make = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


@pytest.fixture(autouse=True)
def installed() -> None:
    fused_sums.install()
    fused_sums.install()  # Once more changes nothing.


def _product(q: tf.Tensor) -> tf.Tensor:
    return tf.matmul(q, q, transpose_b=True)


@tf.compat.v2.function
def _in_function(q: tf.Tensor, masks: tf.Tensor) -> tf.Tensor:
    return _product(q) * 0.5 + tf.split(masks, 2)[1]


MAKES: list[Make] = [
    lambda q, masks: _product(q) * 0.5 + tf.split(masks, 2)[1],
    lambda q, masks: tf.split(masks, 2)[1] + 0.5 * _product(q),
    lambda q, masks: tf.identity(_product(q)) * 0.5 + tf.identity(tf.split(masks, 2)[1]),
    lambda q, masks: (
        _product(q) * 0.5 + tf.reshape(tf.unstack(tf.reshape(masks, [2, 2, 3, 3]))[1], [2, 1, 3, 3])
    ),
    _in_function,
]


def check(make: Make) -> None:
    """Fails unless the sum, and its gradient by the masks, are right."""
    random = np.random.default_rng(0)
    q = random.normal(size=(2, 2, 3, 4)).astype(np.float32)
    masks = random.normal(size=(4, 1, 3, 3)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        given: Any = [tf.placeholder(tf.float32, array.shape) for array in (q, masks)]
        total = make(*given)
        [gradient] = tf.gradients(total, given[1])
        found, slope = session.run([total, gradient], {given[0]: q, given[1]: masks})
        found = session.run(total, {given[0]: q, given[1]: masks})
    np.testing.assert_allclose(found, q @ q.swapaxes(2, 3) * 0.5 + masks[2:], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(slope, np.repeat([0.0, 2.0], 2)[:, None, None, None] + 0 * masks)


@pytest.mark.parametrize("make", MAKES)
def test_sums_are_right(make: Make) -> None:
    check(make)


def _addend(total: tf.Tensor) -> tf.Operation:
    return total.op.inputs[1].op


def test_only_sums_that_may_be_fused_are_made_in_another_way() -> None:
    with tf.Graph().as_default():
        q, masks = tf.ones([2, 2, 3, 4]), tf.ones([4, 1, 3, 3])
        first, second = tf.split(masks, 2)
        assert _addend(_product(q) * 0.5 + second).type == "EnsureShape"
        assert _addend(_product(q) * 0.5 + first).type == "Split"
        assert _addend(_product(q) + second).type == "Split"
        assert _addend(second * 0.5 + second).type == "Split"


@pytest.mark.slow
def test_sums_are_right_where_tensorflow_fuses_them() -> None:
    """This needs a process: TensorFlow asks once whether to use oneDNN."""
    environment = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": "1", "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        [sys.executable, __file__],
        env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
        cwd=Path(__file__).parent,
    )
    assert done.returncode == 0, done.stderr[-3000:]


if __name__ == "__main__":
    tf.disable_eager_execution()
    if "without" not in sys.argv:
        fused_sums.install()
    for one in MAKES:
        check(one)
