"""Which Keras a program has, whatever it imports first."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_CHECK = """
assert tf.keras.Model.__module__.startswith("keras."), tf.keras.Model.__module__
assert v1.keras.Model.__module__.startswith("tf_keras."), v1.keras.Model.__module__
from tensorflow.compat.v1.keras import layers
assert "keras.api._v1.keras" in layers.__name__ or "compat.v1.keras" in layers.__name__, layers
import tensorflow.compat.v1.layers
assert tensorflow.compat.v1.layers.Layer.__module__.startswith("tf_keras."), v1.layers
import tensorflow.compat.v1.nn.rnn_cell
assert v1.nn.rnn_cell.LSTMCell.__module__.startswith("tf_keras."), v1.nn.rnn_cell
from tensorflow.compat.v1.nn import relu, rnn_cell
assert rnn_cell.LSTMCell is v1.nn.rnn_cell.LSTMCell
assert relu is v1.nn.relu
from moxing.engine.graph import graph_keras
outside = tf.keras
with graph_keras.shown(), tf.Graph().as_default():
    assert tf.keras.Model.__module__.startswith("tf_keras."), tf.keras.Model.__module__
    v1.layers.dense(tf.ones([2, 3]), 4)
    v1.nn.rnn_cell.BasicLSTMCell(3)
assert tf.keras is outside
assert tf.keras.Model.__module__.startswith("keras.")
"""
_FIRST = {
    "moxing": "import moxing.tensorflow\nimport tensorflow as tf\n",
    "TensorFlow": "import tensorflow as tf\ntf.keras.Model\nimport moxing.tensorflow\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("first", _FIRST)
def test_the_order_of_imports_decides_nothing(first: str) -> None:
    program = f"{_FIRST[first]}import tensorflow.compat.v1 as v1\n{_CHECK}"
    variables = {k: v for k, v in os.environ.items() if k != "TF_USE_LEGACY_KERAS"}

    done = subprocess.run(
        [sys.executable, "-c", program], env=variables, capture_output=True, text=True, timeout=300
    )

    assert done.returncode == 0, done.stderr
