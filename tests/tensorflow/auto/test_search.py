"""A search finds what trains, and leaves nothing behind."""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from PIL import Image

import moxing.tensorflow as mox
from moxing import flags
from moxing.errors import (
    MoxKeyError,
    MoxNotSupportedError,
    MoxRuntimeError,
    MoxTypeError,
    MoxValueError,
)
from moxing.flags import values
from moxing.tensorflow.executor import export_only

CURVATURE = 4.0  # Gradient descent on the parabola below diverges from a rate of 0.5 on.


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary directories are made."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def _one(mode: str) -> tf.Tensor:
    return tf.constant(1.0)


def _parabola(inputs: Any, mode: str) -> mox.ModelSpec:
    weights = tf.get_variable("w", [3], initializer=tf.ones_initializer())
    loss = 0.5 * CURVATURE * tf.reduce_sum(tf.square(weights)) * inputs[0]
    return mox.ModelSpec(loss=loss, log_info={"loss": loss})


def _sgd(**kwargs: Any) -> tf.train.Optimizer:
    return tf.train.GradientDescentOptimizer(kwargs["param_spec"].learning_rate)


def _momentum(**kwargs: Any) -> tf.train.Optimizer:
    spec = kwargs["param_spec"]
    return tf.train.MomentumOptimizer(spec.learning_rate, spec.momentum)


def _search(**arguments: Any) -> mox.auto.ParamSpec:
    given: dict[str, Any] = {
        "input_fn": _one,
        "model_fn": _parabola,
        "optimizer_fn": _sgd,
        "batch_size": None,
        "auto_batch": False,
        "total_steps": 100,
        "evaluation_total_steps": 2,
        "by_acc": False,
        "log_every_n_steps": 1000,
    }
    return mox.auto.search(**{**given, **arguments})


def _loss_after(steps: int, rate: float) -> float:
    result = mox.auto.run(
        input_fn=_one,
        model_fn=_parabola,
        optimizer_fn=_sgd,
        run_mode=mox.ModeKeys.TRAIN,
        max_number_of_steps=steps,
        log_every_n_steps=steps - 1,
        param_spec=mox.auto.ParamSpec(learning_rate=rate),
    )
    return result.metrics["loss"]


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]


def test_the_rate_found_for_a_parabola_trains_it() -> None:
    found = _search().learning_rate
    assert 0.02 < found < 2 / CURVATURE
    assert _loss_after(50, found) < 1e-3 * _loss_after(2, found)


def test_a_start_value_far_off_changes_nothing() -> None:
    rates = {
        _search(param_spec=mox.auto.ParamSpec(learning_rate=start)).learning_rate
        for start in (1e-6, 0.1, 1000.0)
    }
    assert len(rates) == 1


def test_the_range_is_the_model_s_or_the_caller_s(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="tensorflow"):
        _search(model_size=mox.auto.ModelSize.LARGE)
        _search(init_learning_rate=1e-3, end_learning_rate=0.1)
    lines = [r.getMessage() for r in caplog.records if "(tested" in r.getMessage()]
    assert "(tested 1e-05 to " in lines[0]
    assert lines[1].endswith("(tested 0.001 to 0.1 of 0.1).")


def test_warmup_comes_before_the_range() -> None:
    rates: list[float] = []

    class Noting(tf.train.GradientDescentOptimizer):
        def _prepare(self) -> None:
            def note(rate: Any) -> Any:
                rates.append(float(rate))
                return rate

            self._learning_rate_tensor = tf.py_func(note, [self._learning_rate], tf.float32)
            self._learning_rate_tensor.set_shape([])

    _search(
        optimizer_fn=lambda param_spec: Noting(param_spec.learning_rate),
        total_steps=5,
        warmup_steps=3,
        warmup_lr=0.02,
        init_learning_rate=1e-4,
        end_learning_rate=1e-2,
        param_spec=mox.auto.ParamSpec(learning_rate=7.0),
    )
    expected = [0.02] * 3 + [1e-4, 10**-3.5, 1e-3, 10**-2.5, 1e-2, 1e-2]
    assert rates == pytest.approx(expected, rel=1e-4)


def _data() -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.RandomState(0)
    features = chance.randn(2000, 10).astype(np.float32)
    return features, np.argmax(features @ chance.randn(10, 3), axis=1).astype(np.int32)


FEATURES, LABELS = _data()


def _batches(mode: str) -> Any:
    data = tf.data.Dataset.from_tensor_slices((FEATURES, LABELS)).repeat().batch(50)
    return list(tf.data.make_one_shot_iterator(data).get_next())


def _classifier(inputs: Any, mode: str, **kwargs: Any) -> mox.ModelSpec:
    weights = tf.get_variable("w", [10, 3], initializer=tf.zeros_initializer())
    # Without weights of some size the first class always wins.
    logits = tf.matmul(inputs[0], weights) + tf.constant([4.0, 0.0, 0.0])
    loss = tf.losses.sparse_softmax_cross_entropy(inputs[1], logits)
    right = tf.equal(tf.argmax(logits, 1, output_type=tf.int32), inputs[1])
    accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
    decay = kwargs["param_spec"].weight_decay * tf.nn.l2_loss(weights)
    return mox.ModelSpec(loss=loss + decay, log_info={"loss": loss, "accuracy": accuracy})


@pytest.mark.slow
@pytest.mark.parametrize("by_acc", [True, False])
@pytest.mark.parametrize("select_by_eval", [True, False])
def test_a_classifier_gets_what_trains_it_best(by_acc: bool, select_by_eval: bool) -> None:
    functions = {"input_fn": _batches, "model_fn": _classifier, "optimizer_fn": _momentum}
    spec = _search(
        **functions,
        batch_size=50,
        evaluation_total_steps=10,
        by_acc=by_acc,
        select_by_eval=select_by_eval,
        param_spec=mox.auto.ParamSpec(weight_decay=1e-4, momentum=0.0, learning_rate=0.1),
        # With the large values nothing is learned, and the weights grow without end.
        param_list_spec=mox.auto.ParamSpec(weight_decay=[10.0, 1e-4], momentum=[1.5, 0.5]),
    )
    assert (spec.weight_decay, spec.momentum) == (1e-4, 0.5)
    assert 0.01 < spec.learning_rate < 5
    result = mox.auto.run(
        **functions,
        run_mode=mox.ModeKeys.TRAIN,
        max_number_of_steps=200,
        log_every_n_steps=199,
        param_spec=spec,
    )
    assert result.metrics["accuracy"] > 0.9


def test_the_largest_weight_decay_of_equals_is_taken() -> None:
    functions = {"input_fn": _batches, "model_fn": _classifier, "optimizer_fn": _sgd}
    lists = mox.auto.ParamSpec(weight_decay=[1e-6, 1e-4, 10.0])
    assert _search(**functions, by_acc=True, param_list_spec=lists).weight_decay == 1e-4


def test_candidates_are_tried_without_a_range_test() -> None:
    lists = mox.auto.ParamSpec(learning_rate=[1e-4, 0.2, 0.6])
    assert _search(param_list_spec=lists, total_steps=20).learning_rate == 0.2
    start = mox.auto.ParamSpec(learning_rate=0.1, momentum=0.0)
    spec = _search(
        optimizer_fn=_momentum,
        param_spec=start,
        param_list_spec=mox.auto.ParamSpec(momentum=(0.3, 0.999, 0.0)),
        search_learning_rate=False,
        total_steps=20,
    )
    assert spec == mox.auto.ParamSpec(momentum=0.3, learning_rate=0.1)
    assert start == mox.auto.ParamSpec(learning_rate=0.1, momentum=0.0)


@pytest.mark.parametrize("select_by_eval", [True, False])
@pytest.mark.parametrize("log_every_n_steps", [1, 1000])
def test_trials_that_diverge_lose(select_by_eval: bool, log_every_n_steps: int) -> None:
    arguments: dict[str, Any] = {
        "optimizer_fn": _momentum,
        "param_spec": mox.auto.ParamSpec(learning_rate=0.1),
        "search_learning_rate": False,
        "select_by_eval": select_by_eval,
        "log_every_n_steps": log_every_n_steps,
        "total_steps": 300,  # 1.5 to this power is beyond float32.
    }
    lists = mox.auto.ParamSpec(momentum=[1.5, 0.5])
    assert _search(**arguments, param_list_spec=lists).momentum == 0.5
    with pytest.raises(MoxRuntimeError, match="Training diverged in every trial"):
        _search(**arguments, param_list_spec=mox.auto.ParamSpec(momentum=[1.5]))


def test_a_range_test_ends_where_logged_losses_are_not_finite() -> None:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        found = _parabola(inputs, mode)
        accuracy = tf.exp(-found.losses[0])
        return mox.ModelSpec(loss=found.losses[0], log_info={"accuracy": accuracy})

    rate = _search(model_fn=model_fn, by_acc=True, log_every_n_steps=1, max_thres=1000)
    assert 0.02 < rate.learning_rate < 2 / CURVATURE


def test_thresholds_are_evaluated_on_one_training() -> None:
    modes: list[tuple[str, float]] = []

    def model_fn(inputs: Any, mode: str, **kwargs: Any) -> mox.ModelSpec:
        threshold = kwargs["param_spec"].score_threshold
        modes.append((mode, threshold))
        found = _parabola(inputs, mode)
        recall = 1.0 - abs(threshold - 0.5) + 0.0 * found.log_info["loss"]
        return mox.ModelSpec(loss=found.losses[0], log_info={"recall": recall})

    spec = _search(
        model_fn=model_fn,
        by_acc=True,
        acc_name="recall",
        search_learning_rate=False,
        param_spec=mox.auto.ParamSpec(learning_rate=0.1),
        param_list_spec=mox.auto.ParamSpec(score_threshold=[0.1, 0.6, 0.9]),
    )
    assert spec.score_threshold == 0.6
    assert modes == [("TRAIN", 0.1), ("EVAL", 0.1), ("EVAL", 0.6), ("EVAL", 0.9)]


def _flags() -> dict[str, tuple[Any, bool]]:
    found = {spec.name: values._VALUES[spec.name] for spec in flags.TABLE}
    return {name: (flag.value, flag.using_default_value) for name, flag in found.items()}


def test_nothing_is_left_behind(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, log_dir = tmp_path / "work", tmp_path / "logs"
    work.mkdir()
    monkeypatch.chdir(work)
    mox.set_flag("profile_steps", "1:2")
    mox.set_flag("summary_verbosity", 2)
    before = _flags()
    lists = mox.auto.ParamSpec(learning_rate=[0.1, 0.2])
    _search(param_list_spec=lists, select_by_eval=True, log_dir=log_dir)
    assert not log_dir.exists()  # There was no range test to draw.
    _search(log_dir=log_dir)
    assert os.listdir(log_dir) == ["learning_rate_search.png"]
    with pytest.raises(MoxKeyError):
        _search(select_by_eval=True, search_learning_rate=False, param_list_spec=lists, by_acc=True)
    assert os.listdir(temporary) == []
    assert os.listdir(work) == []
    assert _flags() == before


def test_the_picture_marks_the_rate_chosen(tmp_path: Path) -> None:
    found = _search(log_dir=tmp_path, init_learning_rate=1e-4, end_learning_rate=0.1).learning_rate
    image = Image.open(tmp_path / "learning_rate_search.png")
    pixels = np.asarray(image.convert("RGB")).astype(int)
    assert image.size == (960, 560)
    orange = np.abs(pixels - [0xC2, 0x50, 0x0A]).sum(axis=2) < 30
    share = (int(orange.sum(axis=0).argmax()) - 96) / (960 - 96 - 28)
    assert 10 ** (-4 + 3 * share) == pytest.approx(found, rel=0.05)
    blue = np.abs(pixels - [0x1F, 0x6F, 0xB4]).sum(axis=2) < 30
    tops = [int(np.flatnonzero(blue[:, x])[0]) for x in (100, 500, 900)]
    assert tops == sorted(tops)  # The loss falls: down is a larger row.
    assert tops[0] < tops[2]


def test_a_picture_that_cannot_be_written_costs_the_picture_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    assert _search(log_dir=tmp_path / "file").learning_rate > 0
    (told,) = _warnings(caplog)
    assert told.startswith(
        f"The picture of the search can't be written to {tmp_path}/file/learning_rate_search.png: "
    )


def test_what_no_function_reads_is_told(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[str] = []

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        calls.append(mode)
        return _parabola(inputs, mode)

    spec = _search(
        model_fn=model_fn,
        optimizer_fn=lambda: tf.train.GradientDescentOptimizer(0.001),
        param_spec=mox.auto.ParamSpec(weight_decay=1e-4, momentum=0.9, learning_rate=0.3),
        param_list_spec=mox.auto.ParamSpec(weight_decay=[1e-2, 1e-3], momentum=[0.1, 0.2]),
    )
    # The optimizer's own rate was scaled, so the test is of real rates all the same.
    assert 0.02 < spec.learning_rate < 2 / CURVATURE
    assert (spec.weight_decay, spec.momentum) == (1e-4, 0.9)
    assert calls == ["TRAIN"] * 2
    assert _warnings(caplog) == [
        f"No function of the program reads param_spec.{name}: the value chosen for it changes"
        f" nothing. Take **kwargs, and kwargs['param_spec'].{name}."
        for name in ("weight_decay", "learning_rate", "momentum")
    ]


def test_a_metric_that_is_not_logged_is_named() -> None:
    with pytest.raises(MoxKeyError) as raised:
        _search(by_acc=True, acc_name="los")
    assert str(raised.value) == (
        "acc_name='los' is not in ModelSpec's log_info. Did you mean 'loss'? It has: loss. The"
        " search decides by it; by_acc=False decides by loss_name."
    )


def test_a_model_that_is_never_finite_is_told() -> None:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        found = _parabola(inputs, mode)
        bad = found.log_info["loss"] * math.nan
        return mox.ModelSpec(loss=found.losses[0], log_info={"loss": bad})

    with pytest.raises(MoxRuntimeError) as raised:
        _search(model_fn=model_fn)
    assert str(raised.value) == (
        "Training diverged in every trial, so nothing can be chosen. Lower init_learning_rate or"
        " the learning rate in param_spec, or look at the model."
    )


def test_a_loss_that_never_falls_keeps_the_start_value(caplog: pytest.LogCaptureFixture) -> None:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        found = _parabola(inputs, mode)
        return mox.ModelSpec(loss=found.losses[0], log_info={"loss": tf.constant(1.0)})

    spec = _search(
        model_fn=model_fn,
        param_spec=mox.auto.ParamSpec(learning_rate=0.03),
        end_learning_rate=0.2,
    )
    assert spec.learning_rate == 0.03
    assert _warnings(caplog) == [
        "loss got no better at any learning rate (tested 0.0001 to 0.2 of 0.2): learning_rate stays"
        " 0.03. Raise total_steps, or look at the model."
    ]


def test_several_processes_are_refused() -> None:
    mox.set_flag("job_name", "worker")
    mox.set_flag("worker_hosts", "127.0.0.1:1,127.0.0.1:2")
    with pytest.raises(MoxNotSupportedError) as raised:
        _search()
    assert str(raised.value) == (
        "mox.auto.search works in one process: run it once without the cluster's flags, and give"
        " its result to mox.auto.run(param_spec=...)."
    )


def test_an_export_of_the_program_is_not_held_up_by_a_search() -> None:
    request = export_only.make_request(["TF_SERVING"], None, None)
    with export_only.instead_of_running(request):
        spec = _search(
            model_fn=None,
            param_spec=mox.auto.ParamSpec(learning_rate=0.1),
            param_list_spec=mox.auto.ParamSpec(momentum=[0.9, 0.8], learning_rate=[1.0]),
        )
    assert spec == mox.auto.ParamSpec(learning_rate=0.1, momentum=0.9)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (
            {"param_list_spec": {"momentum": 0.9}},
            MoxTypeError,
            "param_list_spec: momentum=0.9: it must be a list of values to try.",
        ),
        (
            {"param_list_spec": {"momentum": []}},
            MoxTypeError,
            "param_list_spec: momentum=[]: it must be a list of values to try.",
        ),
        (
            {"model_size": "HUGE"},
            MoxValueError,
            "model_size='HUGE': it must be mox.auto.ModelSize.LARGE, SMALL or None.",
        ),
        (
            {"init_learning_rate": -1},
            MoxValueError,
            "init_learning_rate=-1: it must be finite and above 0.",
        ),
        (
            {"end_learning_rate": "x"},
            MoxTypeError,
            "end_learning_rate='x': it must be a number.",
        ),
        (
            {"init_learning_rate": 1.0, "end_learning_rate": 0.1},
            MoxValueError,
            "init_learning_rate=1: it must be below end_learning_rate, which is 0.1.",
        ),
    ],
)
def test_arguments_are_checked_before_work_starts(
    arguments: dict[str, Any], kind: type[Exception], message: str
) -> None:
    given = dict(arguments)
    if "param_list_spec" in given:
        given["param_list_spec"] = mox.auto.ParamSpec(**given["param_list_spec"])
    with pytest.raises(kind) as raised:
        _search(model_fn=None, **given)
    assert str(raised.value) == message
