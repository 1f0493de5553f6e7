"""Params are whatever the program's functions can read: dicts, HParams, what argparse made."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing.errors import MoxNotSupportedError
from moxing.legacy.contrib.training.hparams import HParams


def _rate(params: Any) -> float:
    return params["rate"] if isinstance(params, dict) else params.rate


@pytest.mark.parametrize(
    "params",
    [
        {"rate": 0.5},
        MappingProxyType({"rate": 0.5}),
        HParams(rate=0.5),
        argparse.Namespace(rate=0.5),
        SimpleNamespace(rate=0.5),
    ],
    ids=lambda params: type(params).__name__,
)
def test_training_uses_them(params: Any, problem: SimpleNamespace, tmp_path: Path) -> None:
    kinds = []

    def input_fn(params: Any) -> Any:
        kinds.append(type(params))
        return tf.data.Dataset.from_tensors(({"x": problem.x}, problem.y)).repeat()

    def model_fn(features: Any, labels: Any, mode: str, params: Any) -> tfe.EstimatorSpec:
        kinds.append(type(params))
        weights = tf.get_variable("w", [5, 2], initializer=tf.zeros_initializer())
        logits = tf.matmul(features["x"], weights)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        optimizer = tf.train.GradientDescentOptimizer(_rate(params))
        step = optimizer.minimize(loss, tf.train.get_global_step())
        if not isinstance(params, dict):
            params.rate = 100.0  # It has a copy.
        return tfe.EstimatorSpec(mode, loss=loss, train_op=step)

    made = tfe.Estimator(model_fn, str(tmp_path), params=params)
    made.train(input_fn, steps=1)

    wanted = dict if isinstance(params, MappingProxyType) else type(params)
    assert set(kinds) == {wanted}
    assert _rate(made.params) == 0.5
    one_hot = np.eye(2)[problem.y]
    gradient = problem.x.T @ (0.5 - one_hot) / len(problem.x)
    np.testing.assert_allclose(made.get_variable_value("w"), -0.5 * gradient, atol=1e-6)


def test_without_params_functions_get_an_empty_dict(
    model_fn: Callable[..., Any], tmp_path: Path
) -> None:
    assert tfe.Estimator(model_fn, str(tmp_path)).params == {}


def test_exporting_all_modes_names_the_alternative(estimator: tfe.Estimator) -> None:
    with pytest.raises(MoxNotSupportedError) as caught:
        estimator.experimental_export_all_saved_models("folder", {})
    assert str(caught.value) == (
        "Estimator.experimental_export_all_saved_models is not supported: only the predictions of"
        " a model are exported. Use Estimator.export_saved_model(export_dir_base,"
        " serving_input_receiver_fn), and Estimator.evaluate for metrics."
    )


def test_run_config_has_no_service() -> None:
    assert tfe.RunConfig().service is None
