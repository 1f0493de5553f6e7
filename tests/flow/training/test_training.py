"""Optimizers, schedules and training configuration against numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import MoxRuntimeError, MoxValueError

W = np.array([[0.5, -1.0, 2.0]], np.float32)
X = np.array([[1.0, 2.0, -0.5], [0.5, -1.0, 3.0]], np.float32)
LR = 0.1
STEPS = 4


def _train(update: dict[str, Any], **settings: Any) -> tuple[list[np.ndarray], list[float]]:
    """Weights after each step of a square loss whose gradient is known, and its values."""

    @flow.function
    def job(x: Any = flow.FixedTensorDef(X.shape)) -> Any:  # noqa: B008
        flow.config.train.primary_lr(LR)
        flow.config.train.model_update_conf(update)
        for name, value in settings.items():
            getattr(flow.config.train, name)(value)
        w = flow.get_variable("w", W.shape, initializer=flow.zeros_initializer())
        w2 = flow.math.add(w, flow.constant(0.5, flow.float))
        loss = flow.math.reduce_sum(flow.math.square(x * w2), 1)
        flow.losses.add_loss(loss)
        return {"w": w, "loss": loss}

    flow.train.CheckPoint().init()
    results = [job(X).get() for _ in range(STEPS + 1)]
    return [r["w"] for r in results[1:]], [float(r["loss"].mean()) for r in results]


def _gradient(w: np.ndarray) -> np.ndarray:
    return np.mean(2 * X * X * (w + 0.5), 0, keepdims=True)


Step = Callable[[np.ndarray, np.ndarray, int, dict[str, np.ndarray]], np.ndarray]


def _reference(step: Step) -> list[np.ndarray]:
    w, state, result = np.zeros_like(W, dtype=np.float64), {}, []
    for t in range(STEPS):
        w = step(w, _gradient(w), t, state)
        result.append(w)
    return result


def _momentum(w: Any, g: Any, t: int, s: Any) -> Any:
    s["m"] = 0.8 * s.get("m", 0) - LR * g
    return w + s["m"]


def _rmsprop(w: Any, g: Any, t: int, s: Any) -> Any:
    d = 0.9 if t else 0.0
    s["s"] = (1 - d) * g * g + d * s.get("s", 0)
    return w - LR * g / np.sqrt(s["s"] + 1e-8)


def _lars(w: Any, g: Any, t: int, s: Any) -> Any:
    size, slope = np.linalg.norm(w), np.linalg.norm(g)
    ratio = 0.01 * size / (slope + 1e-9) if size else 1.0
    s["m"] = 0.9 * s.get("m", 0) - LR * ratio * g
    return w + s["m"]


def _moments(g: Any, s: Any) -> tuple[Any, Any]:
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    return s["m"], s["v"]


def _adam(w: Any, g: Any, t: int, s: Any) -> Any:
    m, v = _moments(g, s)
    return w - LR * m / (np.sqrt(v) + 1e-8)


def _corrected(w: Any, g: Any, t: int, s: Any) -> Any:
    m, v = _moments(g, s)
    m, v = m / (1 - 0.9 ** (t + 1)), v / (1 - 0.999 ** (t + 1))
    return w - LR * m / (np.sqrt(v) + 1e-8)


def _lazy(w: Any, g: Any, t: int, s: Any) -> Any:
    m, v = _moments(g, s)
    lr = LR * math.sqrt(1 - 0.999 ** (t + 1)) / (1 - 0.9 ** (t + 1))
    return w - lr * m / (np.sqrt(v) + 1e-8)


@pytest.mark.parametrize(
    ("conf", "step"),
    [
        ({"naive_conf": {}}, lambda w, g, t, s: w - LR * g),
        ({"momentum_conf": {"beta": 0.8}}, _momentum),
        ({"rmsprop_conf": {"decay_rate": 0.9}}, _rmsprop),
        ({"lars_conf": {"lars_coefficient": 0.01}}, _lars),
        ({"adam_conf": {}}, _adam),
        ({"adam_conf": {"do_bias_correction": True}}, _corrected),
        ({"lazy_adam_conf": {}}, _lazy),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_each_optimizer_makes_the_steps_of_its_formula(conf: dict[str, Any], step: Step) -> None:
    found, losses = _train(conf)

    np.testing.assert_allclose(found, _reference(step), rtol=2e-4, atol=1e-6)
    assert min(losses) < losses[0]


def test_lazy_adam_leaves_elements_without_gradient_alone() -> None:
    @flow.function
    def job() -> Any:
        flow.config.train.primary_lr(LR)
        flow.config.train.model_update_conf({"lazy_adam_conf": {}})
        w = flow.get_variable("w", (2,), initializer=flow.ones_initializer())
        first = flow.slice(flow.reshape(w, (1, 2)), [None, 0], [None, 1])
        flow.losses.add_loss(flow.math.reduce_sum(first, 1))
        return w

    flow.train.CheckPoint().init()
    job().get()

    first, second = job().get()
    assert first == pytest.approx(1 - LR, rel=1e-4)
    assert second == 1


def test_l1_and_l2_join_the_gradient_of_weights() -> None:
    found, _ = _train({"naive_conf": {}}, weight_l1=0.01, weight_l2=0.1)

    def step(w: Any, g: Any, t: int, s: Any) -> Any:
        return w - LR * (g + 0.01 * np.sign(w) + 0.1 * w)

    np.testing.assert_allclose(found, _reference(step), rtol=1e-5)


def test_adam_adds_l2_to_its_step() -> None:
    found, _ = _train({"adam_conf": {}}, weight_l2=0.1)

    def step(w: Any, g: Any, t: int, s: Any) -> Any:
        return _adam(w, g, t, s) - LR * 0.1 * w

    np.testing.assert_allclose(found, _reference(step), rtol=2e-4)


def test_a_loss_scale_changes_nothing_in_32_bits() -> None:
    plain, _ = _train({"naive_conf": {}})
    flow.clear_default_session()
    scaled, _ = _train({"naive_conf": {}}, loss_scale_factor=1024)

    np.testing.assert_allclose(scaled, plain, rtol=1e-5)


@pytest.mark.parametrize("given", [None, 10.0])
def test_clipping_is_by_the_own_norm_or_the_one_given(given: float | None) -> None:
    fields: dict[str, Any] = {"clip_norm": 0.3}
    if given is not None:
        fields["global_norm"] = given
    found, _ = _train({"naive_conf": {}, "clip_conf": {"clip_by_global_norm": fields}})

    def step(w: Any, g: Any, t: int, s: Any) -> Any:
        return w - LR * g * 0.3 / max(0.3, given or float(np.linalg.norm(g)))

    np.testing.assert_allclose(found, _reference(step), rtol=1e-5)


SCHEDULES: list[tuple[dict[str, Any], Callable[[int], float]]] = [
    ({"exponential_conf": {"decay_batches": 2, "decay_rate": 0.5}}, lambda t: 0.5 ** (t / 2)),
    (
        {"exponential_conf": {"decay_batches": 2, "decay_rate": 0.5, "staircase": True}},
        lambda t: 0.5 ** (t // 2),
    ),
    ({"inverse_time_conf": {"decay_batches": 2, "decay_rate": 0.5}}, lambda t: 1 / (1 + t / 4)),
    ({"natural_exp_conf": {"decay_batches": 2, "decay_rate": 0.5}}, lambda t: math.exp(-t / 4)),
    (
        {"piecewise_constant_conf": {"boundaries": [1, 2], "values": [0.1, 0.05, 0.01]}},
        lambda t: [1, 1, 0.5, 0.1][t],
    ),
    (
        {"polynomial_conf": {"decay_batches": 3, "end_learning_rate": 0.02, "power": 2.0}},
        lambda t: 0.8 * (1 - min(t, 3) / 3) ** 2 + 0.2,
    ),
    (
        {"polynomial_conf": {"decay_batches": 2, "end_learning_rate": 0.0, "cycle": True}},
        lambda t: 1 - t / (2 * max(1, math.ceil(t / 2))),
    ),
    (
        {"cosine_conf": {"decay_batches": 3, "alpha": 0.1}},
        lambda t: 0.45 * (1 + math.cos(math.pi * min(t, 3) / 3)) + 0.1,
    ),
    (
        {"linear_cosine_conf": {"decay_batches": 4}},
        lambda t: (1 - t / 4) * 0.5 * (1 + math.cos(math.pi * t / 4)) + 0.001,
    ),
]


@pytest.mark.parametrize(("decay", "factor"), SCHEDULES, ids=range(len(SCHEDULES)))
def test_each_schedule_follows_its_formula(
    decay: dict[str, Any], factor: Callable[[int], float]
) -> None:
    found, _ = _train({"naive_conf": {}, "learning_rate_decay": decay})

    reference = _reference(lambda w, g, t, s: w - LR * factor(t) * g)
    np.testing.assert_allclose(found, reference, rtol=1e-5)


@pytest.mark.parametrize(
    ("warm", "factor"),
    [
        ({"constant_conf": {"warmup_batches": 2, "multiplier": 0.1}}, lambda t: 0.1),
        (
            {"linear_conf": {"warmup_batches": 2, "start_multiplier": 0.2}},
            lambda t: 0.2 + 0.8 * (t + 1) / 2,
        ),
    ],
)
def test_warm_up_comes_before_a_decay_that_counts_from_the_first_step(
    warm: dict[str, Any], factor: Callable[[int], float]
) -> None:
    decay = {"exponential_conf": {"decay_batches": 1, "decay_rate": 0.5}}
    found, _ = _train({"naive_conf": {}, "warmup_conf": warm, "learning_rate_decay": decay})

    reference = _reference(lambda w, g, t, s: w - LR * (factor(t) if t + 1 <= 2 else 0.5**t) * g)
    np.testing.assert_allclose(found, reference, rtol=1e-5)


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        (
            {"adam_cnf": {}},
            "model_update_conf has no key 'adam_cnf'. Did you mean 'adam_conf' or"
            " 'lazy_adam_conf' or 'warmup_conf'? It takes one of naive_conf, momentum_conf,"
            " rmsprop_conf, lars_conf, adam_conf, lazy_adam_conf, and learning_rate_decay,"
            " warmup_conf, clip_conf, weight_decay_conf.",
        ),
        (
            {"momentum_conf": {"bta": 1}},
            "model_update_conf['momentum_conf'] has no field 'bta'. Did you mean 'beta'? It has"
            " beta.",
        ),
        (
            {"naive_conf": {}, "learning_rate_decay": {"cosine_conf": {}}},
            "learning_rate_decay['cosine_conf'] needs decay_batches.",
        ),
    ],
)
def test_keys_that_are_unknown_or_missing_are_named(conf: dict[str, Any], message: str) -> None:
    with pytest.raises(MoxValueError) as caught:
        _train(conf)

    assert str(caught.value) == message


def test_bias_variables_have_a_rate_of_their_own() -> None:
    @flow.function
    def job() -> Any:
        flow.config.train.primary_lr(LR)
        flow.config.train.secondary_lr(2 * LR)
        flow.config.train.model_update_conf({"naive_conf": {}})
        one = flow.ones_initializer()
        w = flow.get_variable("w", (1,), initializer=one)
        b = flow.get_variable("b", (1,), initializer=one, model_name="bias")
        flow.losses.add_loss(w + b)
        return w, b

    flow.train.CheckPoint().init()
    job().get()
    w, b = job().get()

    assert (float(w[0]), float(b[0])) == (pytest.approx(0.9), pytest.approx(0.8))


def test_a_loss_that_depends_on_no_variable_is_named() -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((2,))) -> Any:  # noqa: B008
        flow.config.train.primary_lr(LR)
        flow.config.train.model_update_conf({"naive_conf": {}})
        flow.get_variable("w", (2,), initializer=flow.zeros_initializer())
        flow.losses.add_loss(x)
        return x

    with pytest.raises(MoxValueError, match="the loss of job job, .* depends on no variable"):
        flow.train.CheckPoint().init()


def test_a_predict_job_has_no_loss() -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((2,))) -> Any:  # noqa: B008
        flow.losses.add_loss(x)
        return x

    with pytest.raises(MoxRuntimeError, match="job job is no train job"):
        job(np.zeros(2, np.float32))
