"""Poisoned values are named and never saved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.loop.finite import FiniteVariables, NotFiniteError, check_losses
from moxing.errors import MoxRuntimeError


def test_variables_that_are_not_finite_are_named() -> None:
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        tf.get_variable("good", initializer=1.0)
        bad = tf.get_variable("bad", initializer=[1.0, 2.0])
        tf.get_variable("count", initializer=1)
        best = tf.get_variable("best", initializer=float("inf"), trainable=False)
        mean = tf.get_variable("mean", initializer=0.0, trainable=False)
        finite = FiniteVariables(tf.global_variables(), tf.trainable_variables())
        spoil = tf.assign(mean, float("nan"))
        poison = tf.assign(bad, [1.0, float("nan")])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            finite.check(session, 7, "x/model.ckpt-5")
            assert session.run(best) == float("inf")
            session.run(spoil)
            with pytest.raises(MoxRuntimeError, match="the variable mean holds nan or inf"):
                finite.check(session, 7, "")
            session.run(mean.initializer)
            session.run(poison)
            with pytest.raises(MoxRuntimeError) as caught:
                finite.check(session, 8, "x/model.ckpt-5")
    assert str(caught.value).startswith(
        "at global step 8 the variable bad holds nan or inf, so the step is not saved. The last"
        " checkpoint is x/model.ckpt-5. Lower the learning rate"
    )


def test_copies_are_checked_like_the_variables() -> None:
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        tf.get_variable("w", initializer=[1.0, 2.0])
        tf.get_variable("best", initializer=0.0, trainable=False)
        tf.get_variable("half", initializer=tf.zeros([2], tf.float16))
        tf.get_variable("text", initializer="a")
        tf.get_variable("parts", [4, 2], partitioner=tf.fixed_size_partitioner(2))
        finite = FiniteVariables(tf.global_variables(), tf.trainable_variables())
    good: dict[str, Any] = {
        "w": np.full([3], 3e38, np.float32),  # Whose sum is infinite.
        "best": np.float32(np.inf),
        "half": np.full([100], 6e4, np.float16),
        "text": np.array("a", object),
        "parts": np.ones([2, 2], np.float32),
    }
    finite.check_copies(good.items(), 1, "")
    finite.check_copies(good.items(), 2, "")
    for name in ("w", "half", "parts"):
        for value in (np.nan, np.inf, -np.inf):
            bad = np.array(good[name])
            bad.flat[0] = value
            pairs = [*{**good, name: bad}.items(), ("parts", good["parts"])]
            with pytest.raises(NotFiniteError) as caught:
                finite.check_copies(pairs, 3, "x/model.ckpt-2")
            assert f"at global step 3 the variable {name} holds nan or inf" in str(caught.value)


def test_a_loss_that_is_not_finite_is_named() -> None:
    check_losses(3, {"a:0": 1.0})
    with pytest.raises(MoxRuntimeError, match="the loss b:0 is inf at global step 3"):
        check_losses(3, {"a:0": 1.0, "b:0": float("inf")})
