"""What a model function asks for with a Scaffold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing.errors import MoxNotSupportedError

Read = Callable[..., Any]


def estimator(folder: Path, scaffold: Callable[[str, Any], Any]) -> tfe.Estimator:
    """One weight that falls by 1 a step, from 10; evaluations give its value as the loss."""

    def model_fn(features: Any, labels: Any, mode: str) -> tfe.EstimatorSpec:
        del labels
        weight = tf.get_variable("w", [], initializer=tf.constant_initializer(10.0))
        loss = weight + 0 * tf.reduce_sum(features["x"])
        step = tf.train.get_global_step()
        train_op = None
        if mode == tfe.ModeKeys.TRAIN:
            train_op = tf.train.GradientDescentOptimizer(1.0).minimize(loss, step)
        average = tf.train.ExponentialMovingAverage(0.5)
        if train_op is not None:
            with tf.control_dependencies([train_op]):
                train_op = average.apply([weight])
        made = scaffold(mode, average)
        return tfe.EstimatorSpec(mode, loss=loss, train_op=train_op, scaffold=made)

    return tfe.Estimator(model_fn, folder)


def test_the_start_from_elsewhere_is_made_once(tmp_path: Path, read: Read) -> None:
    started: list[int] = []

    def scaffold(mode: str, _: Any) -> Any:
        weight = next(v for v in tf.global_variables() if v.op.name == "w")
        given = tf.placeholder(tf.float32, [])
        assign = weight.assign(given)

        def init_fn(scaffold: Any, session: tf.Session) -> None:
            assert isinstance(scaffold, tf.train.Scaffold)
            started.append(1)
            session.run(assign, {given: 100.0})

        return tf.train.Scaffold(init_fn=init_fn) if mode == tfe.ModeKeys.TRAIN else None

    made = estimator(tmp_path, scaffold)
    made.train(read(), steps=3).train(read(), steps=3)

    assert started == [1]
    assert made.get_variable_value("w") == 94.0


def test_local_variables_of_its_own(tmp_path: Path, read: Read) -> None:
    def scaffold(mode: str, _: Any) -> Any:
        del mode
        own = tf.Variable(0.0, collections=["mine"], trainable=False, use_resource=True)
        tf.summary.scalar("own", own)
        return tf.train.Scaffold(local_init_op=own.initializer)

    made = estimator(tmp_path, scaffold).train(read(), steps=2)
    assert made.evaluate(read(epochs=1))["loss"] == 8.0


def test_an_evaluation_of_averages(tmp_path: Path, read: Read) -> None:
    def scaffold(mode: str, average: Any) -> Any:
        if mode == tfe.ModeKeys.TRAIN:
            return None
        weight = next(v for v in tf.global_variables() if v.op.name == "w")
        names = {average.average_name(weight): weight}
        return tf.train.Scaffold(saver=tf.train.Saver(names))

    made = estimator(tmp_path, scaffold).train(read(), steps=2)

    average = 10.0
    for value in (9.0, 8.0):
        average = (average + value) / 2
    assert made.get_variable_value("w") == 8.0
    np.testing.assert_allclose(made.evaluate(read(epochs=1))["loss"], average)


def test_a_saver_that_leaves_variables_out(tmp_path: Path, read: Read) -> None:
    def scaffold(mode: str, _: Any) -> Any:
        del mode
        some = [v for v in tf.global_variables() if v.op.name == "w"]
        return tf.train.Scaffold(saver=tf.train.Saver(some))

    with pytest.raises(MoxNotSupportedError) as caught:
        estimator(tmp_path, scaffold).train(read(), steps=1)
    assert str(caught.value) == (
        "EstimatorSpec's scaffold has a saver of some of the variables, in TRAIN: openmox saves all"
        " of them, so that a run can be resumed. Leave the saver out; to start from other weights,"
        " use tf.train.init_from_checkpoint."
    )
