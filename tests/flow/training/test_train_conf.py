"""Rates, penalties and losses of single variables, and what optimizers keep in checkpoints."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import MoxTypeError, MoxValueError

LR, START = 0.1, np.array([0.5, -1.0, 2.0])
PULL = np.array([1.0, -2.0, 0.25])  # The gradient of the loss at w, whatever w is.
Variables = dict[str, dict[str, Any]]


def _job(
    update: dict[str, Any], variables: Variables, start: np.ndarray = START, **settings: Any
) -> Callable[..., Any]:
    """A job whose loss is the sum of `variable * PULL` over all variables."""
    several = [
        {"initializer": flow.constant_initializer(float(value)), "shape": (1,)} for value in start
    ]

    @flow.function
    def job(pull: Any = flow.FixedTensorDef((1, 3))) -> Any:  # noqa: B008
        flow.config.train.primary_lr(LR)
        flow.config.train.model_update_conf(update)
        for name, value in settings.items():
            getattr(flow.config.train, name)(value)
        found, loss = {}, flow.math.reduce_sum(pull, 1) * 0.0
        for name, more in variables.items():
            parts = [flow.get_variable(f"{name}{i}", **s, **more) for i, s in enumerate(several)]
            found[name] = flow.concat(parts, 0)
            loss = loss + flow.math.reduce_sum(pull * found[name], 1)
        flow.losses.add_loss(loss)
        return found

    return lambda: job(PULL[None].astype(np.float32)).get()


def _after(steps: int, job: Callable[..., Any]) -> dict[str, np.ndarray]:
    flow.train.CheckPoint().init()
    for _ in range(steps):
        job()
    return job()


def test_bias_variables_have_penalties_of_their_own() -> None:
    variables: Variables = {"w": {}, "b": {"model_name": "bias"}, "o": {"model_name": "other"}}
    found = _after(1, _job({"naive_conf": {}}, variables,
                           weight_l2=0.5, bias_l1=0.25, bias_l2=0.125))  # fmt: skip

    np.testing.assert_allclose(found["w"], START - LR * (PULL + 0.5 * START), rtol=1e-5)
    penalty = 0.25 * np.sign(START) + 0.125 * START
    np.testing.assert_allclose(found["b"], START - LR * (PULL + penalty), rtol=1e-5)
    np.testing.assert_allclose(found["o"], START - LR * PULL, rtol=1e-5)


def test_regularizers_are_the_variables_own() -> None:
    variables: Variables = {
        "a": {"regularizer": flow.regularizers.l2(0.5)},
        "b": {"regularizer": flow.regularizers.l1_l2(0.25, 0.125)},
        "c": {"regularizer": flow.regularizers.l1(0.25), "trainable": False},
    }
    found = _after(1, _job({"naive_conf": {}}, variables))

    np.testing.assert_allclose(found["a"], START - LR * (PULL + 0.5 * START), rtol=1e-5)
    penalty = 0.25 * np.sign(START) + 0.125 * START
    np.testing.assert_allclose(found["b"], START - LR * (PULL + penalty), rtol=1e-5)
    np.testing.assert_array_equal(found["c"], START)


@pytest.mark.parametrize(
    ("fields", "decayed"),
    [
        ({}, ("w", "norm")),
        ({"excludes": {"pattern": ["norm"]}}, ("w",)),
        ({"includes": {"pattern": ["norm"]}}, ("norm",)),
    ],
)
def test_weight_decay_is_of_the_variables_that_patterns_name(
    fields: dict[str, Any], decayed: tuple[str, ...]
) -> None:
    conf = {"adam_conf": {}, "weight_decay_conf": {"weight_decay_rate": 0.5, **fields}}
    found = _after(1, _job(conf, {"w": {}, "norm": {}}))

    # Adam's first step without correction: m = 0.1 g, v = 0.001 g^2.
    step = 0.1 * PULL / (np.sqrt(0.001) * np.abs(PULL) + 1e-8)
    for name, values in found.items():
        decay = 0.5 * START if name in decayed else 0
        np.testing.assert_allclose(values, START - LR * (step + decay), rtol=1e-5)


def test_lars_counts_l2_in_its_rate() -> None:
    """Each variable has one element, so norms are absolute values."""
    found = _after(2, _job({"lars_conf": {"lars_coefficient": 0.5}}, {"w": {}}, weight_l2=0.25))

    w, m = START.copy(), np.zeros(3)
    for _ in range(2):
        local = LR * 0.5 * np.abs(w) / (np.abs(PULL) + 0.25 * np.abs(w) + 1e-9)
        m = 0.9 * m - local * (PULL + 0.25 * w)
        w = w + m
    np.testing.assert_allclose(found["w"], w, rtol=1e-5)


def test_a_schedule_and_warm_up_are_of_the_second_rate_too() -> None:
    conf = {
        "naive_conf": {},
        "warmup_conf": {"linear_conf": {"warmup_batches": 2, "start_multiplier": 0.0}},
        "learning_rate_decay": {"exponential_conf": {"decay_batches": 1, "decay_rate": 0.5}},
    }
    variables: Variables = {"w": {}, "b": {"model_name": "bias"}}
    found = _after(3, _job(conf, variables, secondary_lr=10 * LR))

    factor = 0.5 + 1.0 + 0.25
    np.testing.assert_allclose(found["w"], START - LR * factor * PULL, rtol=1e-5)
    np.testing.assert_allclose(found["b"], START - 10 * LR * factor * PULL, rtol=1e-5)


def test_several_losses_train_the_sum_of_their_means() -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((4,))) -> Any:  # noqa: B008
        flow.config.train.primary_lr(LR)
        flow.config.train.model_update_conf({"naive_conf": {}})
        w = flow.get_variable("w", (1,), initializer=flow.zeros_initializer())
        flow.losses.add_loss(x * w)
        flow.losses.add_loss(x * x * w)
        return w

    x = np.array([1, 2, 3, 4], np.float32)
    flow.train.CheckPoint().init()
    job(x).get()
    assert job(x).get()[0] == pytest.approx(-LR * (x.mean() + (x * x).mean()), rel=1e-5)


def test_losses_that_differ_are_told() -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((4,))) -> Any:  # noqa: B008
        flow.config.train.primary_lr(LR)
        flow.config.train.model_update_conf({"naive_conf": {}})
        w = flow.get_variable("w", (1,), initializer=flow.zeros_initializer())
        flow.losses.add_loss(x * w)
        flow.losses.add_loss(w * 1.0)
        return w

    with pytest.raises(MoxValueError, match=r"is \(4,\) float32, and .* \(1,\) float32. Give them"):
        flow.train.CheckPoint().init()


def test_a_loss_scale_keeps_small_gradients_of_16_bits() -> None:
    """1e-9 is 0 in float16; scaled by 2^20 it is not, and the division comes after."""

    def moved(scale: int) -> float:
        flow.clear_default_session()

        @flow.function
        def job() -> Any:
            flow.config.train.primary_lr(1e6)
            flow.config.train.model_update_conf({"naive_conf": {}})
            flow.config.train.loss_scale_factor(scale)
            w = flow.get_variable("w", (1,), initializer=flow.zeros_initializer())
            small = flow.cast(flow.cast(w, flow.half) * 1.0, flow.float)
            flow.losses.add_loss(small * 1e-9)
            return w

        flow.train.CheckPoint().init()
        job().get()
        return float(job().get()[0])

    assert moved(1) == 0
    assert moved(2**20) == pytest.approx(-1e-3, rel=1e-3)


SLOTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "naive_conf": ({}, []),
    "momentum_conf": ({}, ["momentum"]),
    "rmsprop_conf": ({}, ["mean_square"]),
    "lars_conf": ({}, ["momentum"]),
    "adam_conf": ({"do_bias_correction": True}, ["beta1_t", "beta2_t", "m", "v"]),
    "lazy_adam_conf": ({}, ["beta1_t", "beta2_t", "m", "v"]),
}


@pytest.mark.parametrize("key", SLOTS)
def test_each_optimizer_goes_on_from_its_checkpoint(key: str, tmp_path: Path) -> None:
    fields, slots = SLOTS[key]

    def job() -> Callable[..., Any]:
        return _job({key: fields}, {"w": {}}, START[:1])

    def steps(call: Callable[..., Any], count: int) -> list[float]:
        return [float(call()["w"][0]) for _ in range(count)]

    call, point = job(), flow.train.CheckPoint()
    point.init()
    steps(call, 3)
    point.save(str(tmp_path / "saved"))
    wanted = steps(call, 3)
    names = sorted(path.name for path in (tmp_path / "saved").iterdir())
    assert names == sorted(
        [
            ".digests.json",
            "System-Train-TrainStep-job",
            "shapes.json",
            "snapshot_done",
            "w0",
            *(f"w0-{slot}" for slot in slots),
        ]
    )

    flow.clear_default_session()
    call = job()
    flow.train.CheckPoint().load(str(tmp_path / "saved"))
    assert steps(call, 3) == wanted
    assert len(set(wanted)) == 3


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        ({}, "model_update_conf takes exactly one of naive_conf, momentum_conf, rmsprop_conf,"
             " lars_conf, adam_conf, lazy_adam_conf; it has 0."),
        ({"naive_conf": {}, "adam_conf": {}}, "model_update_conf takes exactly one of naive_conf,"
             " momentum_conf, rmsprop_conf, lars_conf, adam_conf, lazy_adam_conf; it has 2."),
        ({"naive_conf": {}, "clip_conf": {"clip_by_global_norm": {}}},
             "clip_conf['clip_by_global_norm'] needs clip_norm."),
        ({"naive_conf": {}, "warmup_conf": {"linear_conf":
             {"warmup_batches": 2, "start_multiplier": 1.5}}},
             "warmup_conf['linear_conf']: start_multiplier=1.5 must be less than 1 and not"
             " negative, and warmup_batches=2 not negative."),
        ({"naive_conf": {}, "learning_rate_decay": {"piecewise_constant_conf":
             {"boundaries": [3, 1], "values": [1, 2, 3]}}},
             "piecewise_constant_conf takes ascending boundaries and one more of values than of"
             " those: boundaries=[3, 1], values=[1, 2, 3]."),
    ],
)  # fmt: skip
def test_confs_that_make_no_sense_are_told(conf: dict[str, Any], message: str) -> None:
    _job(conf, {"w": {}})

    with pytest.raises(MoxValueError) as caught:
        flow.train.CheckPoint().init()
    assert str(caught.value) == message


def test_a_number_of_batches_to_accumulate_is_checked() -> None:
    config = flow.FunctionConfig()
    config.train.num_gradient_accumulation_steps(1)

    with pytest.raises(MoxValueError, match=r"steps\(0\): it must be 1 or more"):
        config.train.num_gradient_accumulation_steps(0)


def _twice(second: Callable[[Any], Any]) -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((4,))) -> Any:  # noqa: B008
        flow.config.train.primary_lr(np.float32(0.5))
        flow.config.train.model_update_conf({"naive_conf": {}})
        w = flow.get_variable("w", (1,), initializer=flow.ones_initializer())
        loss = flow.math.square(x * w, name="first")
        flow.losses.add_loss(loss)
        flow.losses.add_loss(second(loss))
        return w

    flow.train.CheckPoint().init()
    x = np.ones(4, np.float32)
    job(x)
    assert job(x).get().tolist() == [0.0]  # The slope of the mean of (x w)^2 is 2.


@pytest.mark.parametrize("count", [1, 2])
def test_a_loss_that_is_computed_of_another_is_named(
    devices: Callable[[int], None], count: int
) -> None:
    devices(count)
    with pytest.raises(MoxValueError) as caught:
        _twice(lambda loss: flow.math.abs(loss, name="second"))
    assert re.fullmatch(
        r"the loss of job job, 'job/second/Abs' \(test_train_conf.py:\d+\), is computed from"
        r" another loss, 'job/first/Square' \(test_train_conf.py:\d+\)\. Call add_loss with one of"
        r" the two\.",
        str(caught.value),
    )


def test_rates_and_losses_may_be_numpys_and_of_one_source() -> None:
    """The second depends on the variable, not on the first; its gradient is 0."""
    _twice(lambda loss: flow.get_variable("w", (1,)) * flow.constant(0.0, flow.float, (4,)))


def test_settings_of_the_environment_are_named_as_the_program_does() -> None:
    with pytest.raises(MoxTypeError, match="flow.env.ctrl_port takes an int, not '1'"):
        flow.env.ctrl_port("1")
    with pytest.raises(MoxTypeError, match="flow.env.machine takes addresses, or dicts with addr"):
        flow.env.machine(3)
    with pytest.raises(MoxValueError, match="flow.config.machine names a twice"):
        flow.config.machine("a", "a")


def test_switches_of_memory_are_there_for_single_jobs() -> None:
    for config in (flow.config, flow.FunctionConfig()):
        assert config.static_mem_alloc_policy_white_list.add("any") is None


def test_default_initializers_may_scale_their_variance() -> None:
    conf = {"variance_scaling_conf": {"scale": 2.0, "variance_norm": "fan_out"}}
    flow.config.default_initializer_conf(conf)

    @flow.function
    def job() -> Any:
        return flow.get_variable("w", (100, 10), random_seed=4)

    flow.train.CheckPoint().init()
    # Of 1000 values; sqrt(2 / 100).
    assert job().get().std() == pytest.approx(0.1414, rel=0.1)
    with pytest.raises(MoxValueError, match="mode='fan' is none of fan_in, fan_out, fan_avg"):
        flow.FunctionConfig().default_initializer_conf(
            {"variance_scaling_conf": {"variance_norm": "fan"}}
        )
