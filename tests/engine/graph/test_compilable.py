"""What XLA would compile of a step is read from its graph, and what a session does about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph import compilable, devices
from moxing.engine.graph.hardware import Machine
from moxing.engine.graph.rewrites.resources import resource_variables

UNITS = 8


def fed(*shape: int | None) -> Any:
    """The elements of a dataset with this shape."""
    length = [1 if size is None else size for size in shape]
    data = tf.data.Dataset.from_generator(lambda: iter([]), tf.float32, list(shape))
    assert len(length) == len(shape)
    return tf.data.make_one_shot_iterator(data).get_next()


def dense(x: Any, count: int = 6) -> Any:
    for number in range(count):
        w = tf.get_variable(f"w{number}", [x.shape[-1], UNITS])
        x = tf.nn.relu(tf.tensordot(x, w, 1) if x.shape.rank != 2 else tf.matmul(x, w))
    return tf.reduce_sum(x)


def images() -> Any:
    return dense(tf.reshape(fed(32, 4, 4), [32, 16]))


def last_batch_is_smaller() -> Any:
    return dense(tf.reshape(fed(None, 4, 4), [-1, 16]))


def sentences() -> Any:
    return dense(fed(32, None, 16))


def words_of_sentences() -> Any:
    return dense(tf.reshape(fed(None, None, 16), [-1, 16]))


def chosen_rows() -> Any:
    x = fed(32, 16)
    return dense(tf.boolean_mask(x, x[:, 0] > 0))


def rows_at_the_end() -> Any:
    """A few of many operations: the others are worth compiling."""
    x = fed(32, 16)
    loss = dense(x)
    return loss + tf.reduce_sum(tf.boolean_mask(x, x[:, 0] > 0))


def cut_to_a_size() -> Any:
    return dense(tf.ensure_shape(fed(32, None, 16)[:, :5], [32, 5, 16]))


def trained(model: Callable[[], Any]) -> tf.Graph:
    with resource_variables(), tf.Graph().as_default() as graph:
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(model())
    return graph


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (images, False),
        (last_batch_is_smaller, False),
        (sentences, True),
        (words_of_sentences, True),
        (chosen_rows, True),
        (rows_at_the_end, False),
        (cut_to_a_size, False),
    ],
)
def test_shapes_that_change_in_each_step(model: Callable[[], Any], changes: bool) -> None:
    found = compilable.work(trained(model).get_operations())
    assert found.computed > 20
    assert (found.unsteady > 0.5 * found.computed) == changes, found
    if changes:
        assert "(test_compilable.py:" in found.example


@pytest.mark.parametrize("optimizer", [tf.train.AdamOptimizer, tf.train.GradientDescentOptimizer])
def test_tables_of_which_single_rows_are_changed(optimizer: Any) -> None:
    with resource_variables(), tf.Graph().as_default() as graph:
        table = tf.get_variable("table", [1000, 64])
        loss = tf.reduce_sum(tf.gather(table, tf.constant([1, 5])))
        assert not compilable.work(graph.get_operations()).table
        optimizer(0.1).minimize(loss)
    assert compilable.work(graph.get_operations()).table == 1000 * 64 * 4


def test_loops_and_variables_of_before_are_read() -> None:
    """Control flow of TensorFlow 1.x, TensorArrays, and reference variables."""
    with tf.Graph().as_default() as graph:
        tf.disable_control_flow_v2()
        x, w = fed(4, 10, 16), tf.Variable(tf.ones([16, 16]), use_resource=False)
        steps = tf.transpose(tf.tensordot(x, w, 1), [1, 0, 2])
        out = tf.scan(lambda state, seen: tf.tanh(state + seen), steps, tf.zeros([4, 16]))
        rows = tf.scatter_add(w, [0], tf.ones([1, 16]))
        tf.gradients(tf.reduce_sum(out) + tf.reduce_sum(rows), tf.trainable_variables())
    found = compilable.work(graph.get_operations())
    assert found.unsteady < 0.5 * found.computed
    assert found.table == 16 * 16 * 4


def chosen(graph: tf.Graph) -> bool:
    config = tf.ConfigProto()
    compilable.choose(config, graph)
    return config.graph_options.optimizer_options.global_jit_level == tf.OptimizerOptions.ON_1


def test_a_session_says_what_it_does(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "tensorflow")
    steady, changing = trained(images), trained(sentences)
    assert not chosen(steady)
    assert not caplog.messages  # Without a GPU there is nothing to say.
    monkeypatch.setattr(devices, "machine", lambda: Machine(8, 96))
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_persistent_cache_directory=/kept")
    assert chosen(steady)
    assert not chosen(changing)
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_auto_jit=-1")
    assert not chosen(steady)
    said, why = caplog.messages
    assert said == (
        "XLA compiles the steps of this run, so the first one takes longer. Later runs load the"
        " compiled code from /kept."
    )
    assert why.startswith("XLA compiles nothing here: ")
    assert "have other shapes in each step, such as" in why
    assert why.endswith("TF_XLA_FLAGS=--tf_xla_auto_jit=1 has it compile.")
