"""Metrics of an EstimatorSpec, whose values may be structures of tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow.compat.v1 as tf

import moxing.estimator
from moxing.estimator.modeling import metrics
from moxing.legacy.names import restored


def test_a_value_may_be_a_structure() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        mean = tf.metrics.mean([1.0, 3.0])
        state = (tf.constant([1, 2]), [tf.constant(3.0)])
        found = metrics.read({"mean": mean, "state": (state, tf.no_op())})
        session.run(tf.local_variables_initializer())
        session.run(dict(found.updates))
        values = session.run(dict(found.values))

    assert values["mean"] == 2
    assert values["state"][0].tolist() == [1, 2]
    assert values["state"][1] == [3.0]
    assert list(found.scalars) == ["mean"]


def test_texts_are_collected_in_a_variable_that_no_collection_lists(tmp_path: Path) -> None:
    def collected(values: Any, name: str) -> tuple[Any, Any]:
        # As in google/seq2seq, whose metrics read all predictions of an evaluation at once.
        texts = tf.Variable([], dtype=tf.string, name=name, trainable=False, collections=[])
        update = restored.assign(texts, tf.concat([texts, values], 0), validate_shape=False)
        return tf.identity(texts), update

    def model_fn(features: Any, labels: Any, mode: Any) -> Any:
        value, update = collected(features, "texts")
        joined = tf.py_func(lambda texts: float(len(b"".join(texts))), [value], tf.double)
        with tf.control_dependencies([update]):
            updated = tf.identity(joined)
        ended = {"length": (joined, updated)}
        loss = tf.square(tf.get_variable("w", initializer=1.0))
        step = tf.train.get_or_create_global_step()
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)
        return moxing.estimator.EstimatorSpec(
            mode, loss=loss, train_op=train, eval_metric_ops=ended
        )

    def input_fn() -> Any:
        texts = tf.data.Dataset.from_tensor_slices(["a", "bb", "ccc", "dddd"]).batch(2)
        return texts.map(lambda text: (text, text))

    estimator = moxing.estimator.Estimator(model_fn, tmp_path)
    estimator.train(input_fn, steps=1)
    results = estimator.evaluate(input_fn)

    assert results["length"] == 10
