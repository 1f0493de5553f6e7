"""Metrics of an EstimatorSpec, whose values may be structures of tensors."""

from __future__ import annotations

import tensorflow.compat.v1 as tf

from moxing.estimator.modeling import metrics


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
