"""A cell that is called with inputs of several widths has variables for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing.legacy.face import catalog
from moxing.legacy.flags.command_line import CommandLine


@pytest.fixture(scope="module")
def cells() -> Any:
    faces = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())
    return faces.load("tensorflow.nn.rnn_cell")


@pytest.mark.parametrize(
    ("kind", "wrapped"),
    [
        ("BasicLSTMCell", True),
        ("BasicRNNCell", False),
        ("GRUCell", False),
        ("LSTMCell", False),
    ],
)
def test_each_width_has_variables_in_the_scope_of_its_call(
    cells: Any, kind: str, wrapped: bool
) -> None:
    with tf.Graph().as_default():
        cell = getattr(cells, kind)(3)
        if wrapped:
            cell = cells.DropoutWrapper(cell, output_keep_prob=1.0)
        outputs = []
        for scope, width in (("a", 4), ("b", 6), ("c", 4), ("d", 6)):
            inputs = tf.ones([2, 5, width])
            output, _ = tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32, scope=scope)
            outputs.append(output)
        with tf.variable_scope(tf.get_variable_scope(), reuse=True):
            again, _ = tf.nn.dynamic_rnn(cell, tf.ones([2, 5, 6]), dtype=tf.float32, scope="b")
        rows = [
            (name.split("/")[0], variable.shape.as_list()[0])
            for variable in tf.trainable_variables()
            if (name := variable.op.name).endswith("kernel") and "candidate" not in name
        ]
        # Equal widths share the first call's variables in later versions, too.
        assert rows == [("a", 4 + 3), ("b", 6 + 3), ("d", 6 + 3)]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found = session.run([*outputs, again])
        np.testing.assert_array_equal(found[0], found[2])
        np.testing.assert_array_equal(found[1], found[4])
        assert np.abs(found[1] - found[3]).max() > 0
