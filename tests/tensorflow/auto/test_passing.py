"""Hyper-parameters reach every function that takes them, and no other."""

from __future__ import annotations

import copy
import functools
import pickle
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.errors import MoxAttributeError, MoxTypeError


def test_a_spec_is_a_bag_of_attributes() -> None:
    spec = mox.auto.ParamSpec(learning_rate=0.1, momentum=0.9)
    assert (spec.learning_rate, spec.momentum) == (0.1, 0.9)
    spec.weight_decay = 1e-4
    assert repr(spec) == "ParamSpec(learning_rate=0.1, momentum=0.9, weight_decay=0.0001)"
    assert copy.deepcopy(spec) == spec == pickle.loads(pickle.dumps(spec))
    assert spec != mox.auto.ParamSpec(learning_rate=0.1)
    assert not hasattr(spec, "nesterov")


def test_what_a_spec_does_not_have_is_named() -> None:
    with pytest.raises(MoxAttributeError) as raised:
        _ = mox.auto.ParamSpec(learning_rate=0.1, momentum=0.9).learning_rates
    assert isinstance(raised.value, AttributeError)
    assert str(raised.value) == (
        "ParamSpec has no parameter 'learning_rates'. Did you mean 'learning_rate'? It has:"
        " learning_rate, momentum."
    )
    with pytest.raises(MoxAttributeError, match=r"ParamSpec has no parameter 'x'\. It has none\."):
        _ = mox.auto.ParamSpec().x


def test_both_sizes_are_there() -> None:
    assert (mox.auto.ModelSize.LARGE, mox.auto.ModelSize.SMALL) == ("LARGE", "SMALL")


def _model(rate: float, inputs: Any) -> mox.ModelSpec:
    weight = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(inputs[0]) * weight
    return mox.ModelSpec(loss=loss, log_info={"rate": tf.constant(float(rate))})


def _trained(log_dir: Path, **functions: Any) -> float:
    """The weight after one step with gradient 1: the learning rate, negated."""
    result = mox.auto.run(
        **functions,
        run_mode=mox.ModeKeys.TRAIN,
        max_number_of_steps=1,
        log_dir=log_dir,
        param_spec=mox.auto.ParamSpec(learning_rate=0.25),
    )
    return float(tf.train.load_checkpoint(result.checkpoint).get_tensor("w"))


def test_functions_with_kwargs_or_the_name_get_the_spec(tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    def input_fn(mode: str, **kwargs: Any) -> tf.Tensor:
        seen["input_fn"] = kwargs["param_spec"]
        return tf.constant(1.0)

    def model_fn(inputs: Any, mode: str, param_spec: Any = None) -> mox.ModelSpec:
        seen["model_fn"] = param_spec
        return _model(param_spec.learning_rate, inputs)

    def optimizer_fn(**kwargs: Any) -> tf.train.Optimizer:
        return tf.train.GradientDescentOptimizer(kwargs["param_spec"].learning_rate)

    functions = {"input_fn": input_fn, "model_fn": model_fn, "optimizer_fn": optimizer_fn}
    assert _trained(tmp_path / "a", **functions) == -0.25
    assert seen["input_fn"] is seen["model_fn"]
    functions["model_fn"] = functools.partial(model_fn)
    functions["optimizer_fn"] = [lambda param_spec: optimizer_fn(param_spec=param_spec)]
    assert _trained(tmp_path / "b", **functions) == -0.25


def test_functions_without_kwargs_still_work(tmp_path: Path) -> None:
    trained = _trained(
        tmp_path,
        input_fn=lambda: tf.constant(1.0),
        model_fn=lambda inputs, mode: _model(1.0, inputs),
        optimizer_fn=lambda: tf.train.GradientDescentOptimizer(0.5),
    )
    assert trained == -0.5


def test_without_a_spec_it_is_a_plain_run() -> None:
    result = mox.auto.run(
        input_fn=lambda mode: tf.constant(1.0),
        model_fn=lambda inputs, mode, **kwargs: _model(len(kwargs), inputs),
        optimizer_fn=lambda **kwargs: tf.train.GradientDescentOptimizer(0.5),
        run_mode=mox.ModeKeys.TRAIN,
        max_number_of_steps=1,
    )
    assert result.metrics == {"rate": 0.0}


def test_wrong_arguments_are_named() -> None:
    wrong: Any = {"learning_rate": 0.1}
    with pytest.raises(MoxTypeError) as raised:
        mox.auto.run(param_spec=wrong)
    assert str(raised.value) == (
        "param_spec={'learning_rate': 0.1}: it must be a mox.auto.ParamSpec, such as"
        " mox.auto.ParamSpec(learning_rate=0.1)."
    )
    with pytest.raises(MoxTypeError, match=r"mox\.run has no argument 'log_dirs'"):
        mox.auto.run(log_dirs="x", param_spec=mox.auto.ParamSpec())
