"""Train settings as the original took them in 2020, in jobs with a `FunctionConfig`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow

W, V = np.array([1.0, -2.0]), np.array([0.5])
PULL = {"w": np.array([3.0, 4.0]), "v": np.array([12.0])}  # Together of the length 13.
LR, STEPS = 0.1, 3
State = dict[str, Any]
Step = Callable[[np.ndarray, np.ndarray, int, State], np.ndarray]


def _train(update: dict[str, Any], **regularizers: Any) -> dict[str, np.ndarray]:
    """The variables after each step of a job whose gradient is PULL."""
    config = flow.FunctionConfig()
    config.train.primary_lr(LR)
    config.train.model_update_conf(update)

    @flow.function(config)
    def job() -> Any:
        loss, values = [], {}
        for name, start in (("w", W), ("v", V)):
            parts = [
                flow.get_variable(
                    f"{name}{i}",
                    (1,),
                    initializer=flow.constant_initializer(float(one)),
                    regularizer=regularizers.get(name),
                )
                for i, one in enumerate(start)
            ]
            values[name] = flow.concat(parts, 0)
            pull = flow.concat([flow.constant(float(p), flow.float) for p in PULL[name]], 0)
            loss.append(flow.math.reduce_sum(values[name] * pull))
        flow.losses.add_loss(flow.math.add_n(loss))
        return values

    flow.train.CheckPoint().init()
    found = [job().get() for _ in range(STEPS + 1)]
    return {name: np.stack([one[name] for one in found[1:]]) for name in PULL}


def _wanted(step: Step, gradient: Callable[[str, np.ndarray], Any] | None = None) -> Any:
    result = {}
    for name, start in (("w", W), ("v", V)):
        value, state, steps = start.copy(), {}, []
        for t in range(STEPS):
            g = PULL[name] if gradient is None else gradient(name, value)
            value = step(value, g, t, state)
            steps.append(value)
        result[name] = np.stack(steps)
    return result


def _momentum(w: np.ndarray, g: np.ndarray, t: int, s: State) -> np.ndarray:
    s["m"] = 0.9 * s.get("m", 0) - LR * g
    return w + s["m"] - LR * 0.5 * w


def _rmsprop(w: np.ndarray, g: np.ndarray, t: int, s: State) -> np.ndarray:
    rate = 0.9 if t else 0.0
    s["s"] = (1 - rate) * g * g + rate * s.get("s", 0)
    return w - LR * g / np.sqrt(s["s"] + 1e-8) - LR * 0.5 * w


DECAY = {"weight_decay_conf": {"weight_decay_rate": 0.5}}


@pytest.mark.parametrize(
    ("update", "step"),
    [
        ({"momentum_conf": {}, **DECAY}, _momentum),
        ({"rmsprop_conf": {"decay_rate": 0.9}, **DECAY}, _rmsprop),
        ({"naive_conf": {}, **DECAY}, lambda w, g, t, s: w - LR * (g + 0.5 * w)),
        (
            {"naive_conf": {}, "clip_conf": {"clip_by_global_norm": {"clip_norm": 2.0}}},
            lambda w, g, t, s: w - LR * g * 2 / 13,
        ),
        (
            {"naive_conf": {}, "clip_conf": {"clip_by_global_norm": {"clip_norm": 20.0}}},
            lambda w, g, t, s: w - LR * g,
        ),
        (
            {
                "naive_conf": {},
                "warmup_conf": {"linear_conf": {"warmup_batches": 2, "start_multiplier": 0.2}},
            },
            lambda w, g, t, s: w - LR * [0.2, 0.6, 1.0][t] * g,
        ),
        (
            {
                "naive_conf": {},
                "warmup_conf": {"linear_conf": {"warmup_batches": 0, "start_multiplier": 0.0}},
            },
            lambda w, g, t, s: w - LR * g,
        ),
        (
            {
                "naive_conf": {},
                "learning_rate_decay": {
                    "piecewise_scaling_conf": {"boundaries": [0, 1], "scales": [1.0, 0.5, 0.1]}
                },
            },
            lambda w, g, t, s: w - LR * [1.0, 0.5, 0.1][t] * g,
        ),
    ],
    ids=("momentum", "rmsprop", "naive", "clipped", "whole", "warm", "never-warm", "scaled"),
)
def test_a_step_follows_the_formula_of_2020(update: dict[str, Any], step: Step) -> None:
    found, wanted = _train(update), _wanted(step)

    for name in PULL:
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-5, atol=1e-6, err_msg=name)


def test_a_regularizer_joins_the_gradient_before_it_is_clipped_and_adam_sees_it() -> None:
    update = {"adam_conf": {}, "clip_conf": {"clip_by_global_norm": {"clip_norm": 1.0}}}
    found = _train(update, w=flow.regularizers.l2(0.5))

    gradients = {"w": PULL["w"] + 0.5 * W, "v": PULL["v"]}
    length = math.sqrt(sum(float(g @ g) for g in gradients.values()))
    for name, start in (("w", W), ("v", V)):
        g = gradients[name] / length
        step = 0.1 * g / (np.sqrt(0.001) * np.abs(g) + 1e-8)
        np.testing.assert_allclose(found[name][0], start - LR * step, rtol=1e-5, err_msg=name)


def test_a_scale_more_or_less_than_boundaries_is_refused() -> None:
    scaling = {"boundaries": [1], "scales": [1.0]}
    conf = {"naive_conf": {}, "learning_rate_decay": {"piecewise_scaling_conf": scaling}}

    with pytest.raises(ValueError, match="piecewise_scaling_conf takes ascending boundaries"):
        _train(conf)
