"""Jobs, sessions, results and checkpoints."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import (
    CheckpointError,
    MoxRuntimeError,
    MoxTypeError,
    MoxValueError,
)
from moxing.flow.trace import context

ONE = flow.FixedTensorDef((2,))
X = np.array([1, 2], np.float32)


def test_results_have_the_structure_that_the_job_returns() -> None:
    @flow.function
    def nested(x: Any = ONE) -> Any:
        return {"a": x + 1.0, "b": [x * 2.0, (2.0 / x,)]}

    @flow.function
    def nothing(x: Any = ONE) -> None:
        flow.identity(x)

    found = nested(X).get()

    assert found["a"].tolist() == [2, 3]
    assert found["b"][0].tolist() == [2, 4]
    assert found["b"][1][0].tolist() == [2, 1]
    assert type(found["a"].ndarray()) is np.ndarray
    assert found["a"].mean().dtype == np.float32
    assert nothing(X) is None


def test_nones_in_a_result_stay_where_they_are() -> None:
    @flow.function
    def job(x: Any = ONE) -> Any:
        return x, None, {"a": None, "b": [x * 2.0, None]}

    @flow.function
    def nones(x: Any = ONE) -> Any:
        return [None, None]

    first, second, third = job(X).get()

    assert (first.tolist(), second) == ([1, 2], None)
    assert (third["a"], third["b"][0].tolist(), third["b"][1]) == (None, [2, 4], None)
    assert nones(X).get() == [None, None]


def test_a_result_is_taken_once() -> None:
    @flow.function
    def job(x: Any = ONE) -> Any:
        return x

    handle = job(X)
    handle.get()

    with pytest.raises(MoxRuntimeError, match="the result of this call of job was taken already"):
        handle.get()


def test_steps_and_saves_keep_the_order_of_calls(count: Any, tmp_path: Path) -> None:
    point, seen = flow.train.CheckPoint(), []
    point.init()
    for _ in range(40):
        count().async_get(lambda value: seen.append(int(value[0])))
    point.save(str(tmp_path / "a"))

    assert np.fromfile(tmp_path / "a" / "w" / "out", "<f4").tolist() == [40]
    assert count().get()[0] == 40
    flow.clear_default_session()
    assert seen == list(range(40))


def test_what_a_callback_raises_is_raised_at_the_next_call(count: Any) -> None:
    flow.train.CheckPoint().init()
    called = threading.Event()

    def callback(value: Any) -> None:
        called.set()
        raise ValueError("mine")

    count().async_get(callback)
    assert called.wait(240)
    # The fault is noted behind the callback.
    with pytest.raises(ValueError, match="mine"):
        _call_until_it_raises(count)


def _call_until_it_raises(job: Any) -> None:
    for _ in range(100):
        job().get()


def test_jobs_share_variables_by_name(count: Any) -> None:
    @flow.function
    def read() -> Any:
        return flow.get_variable("w", (1,), initializer=flow.zeros_initializer())

    flow.train.CheckPoint().init()
    count().get()
    count().get()

    assert read().get().tolist() == [2]


def test_jobs_that_disagree_on_a_variable_are_told(count: Any, tmp_path: Path) -> None:
    @flow.function
    def other() -> Any:
        return flow.get_variable("w", (2,), initializer=flow.zeros_initializer())

    with pytest.raises(MoxValueError) as caught:
        flow.train.CheckPoint().init()
    assert str(caught.value) == (
        "variable 'w' has shape (2,) in job other, and (1,) in job count. Jobs that use one name"
        " share the variable: give it the same definition, or another name."
    )


def test_a_checkpoint_is_the_bytes_of_each_variable_and_loads_back(
    count: Any, tmp_path: Path
) -> None:
    point = flow.train.CheckPoint()
    point.init()
    count().get()
    point.save(str(tmp_path / "a"))

    found = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert found == [
        *("a/.digests.json", "a/System-Train-TrainStep-count/out"),
        *("a/shapes.json", "a/snapshot_done", "a/w/out"),
    ]
    assert (tmp_path / "a/System-Train-TrainStep-count/out").read_bytes() == bytes([1] + [0] * 7)
    assert (tmp_path / "a/snapshot_done").read_bytes() == b""
    count().get()
    point.load(str(tmp_path / "a"))
    assert count().get().tolist() == [1]
    with pytest.raises(MoxValueError, match="there is something already"):
        point.save(str(tmp_path / "a"))


def test_loading_names_every_variable_that_does_not_fit(count: Any, tmp_path: Path) -> None:
    point = flow.train.CheckPoint()
    (tmp_path / "a" / "w").mkdir(parents=True)
    (tmp_path / "a" / "w" / "out").write_bytes(bytes(8))

    with pytest.raises(CheckpointError) as caught:
        point.load(str(tmp_path / "a"))
    assert str(caught.value) == (
        f"checkpoint {tmp_path}/a does not fit the jobs: it lacks System-Train-TrainStep-count; of"
        " another size are w (8 bytes; the variable has 4)."
    )
    (tmp_path / "a" / "w" / "out").write_bytes(np.array([5], np.float32).tobytes())
    point.load(str(tmp_path / "a"), partial=True)
    assert count().get().tolist() == [5]


def test_a_save_that_fails_leaves_nothing(
    count: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = flow.train.CheckPoint()
    point.init()
    count().get()
    monkeypatch.setattr(os, "rename", lambda *_: (_ for _ in ()).throw(OSError("full")))

    with pytest.raises(CheckpointError, match=f"cannot save {tmp_path}/a: full"):
        point.save(str(tmp_path / "a"))
    assert list(tmp_path.iterdir()) == []


def test_mistakes_are_told_where_they_are_made(count: Any) -> None:
    with pytest.raises(MoxRuntimeError, match=r"^flow\.concat was called outside a job\.") as _:
        flow.concat([flow.train], 0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(MoxRuntimeError, match=r"count was called before its variables have values"):
        count()
    with pytest.raises(MoxRuntimeError, match="was defined after the session started"):
        flow.function(lambda: None)
    with pytest.raises(MoxRuntimeError, match="called after the session started"):
        flow.config.ctrl_port(1)


def test_configuration_is_checked() -> None:
    with pytest.raises(MoxRuntimeError, match=r"train\.primary_lr was called outside a job"):
        flow.config.train.primary_lr(0.1)
    with pytest.raises(MoxTypeError, match="takes a bool, not 1"):
        flow.config.enable_inplace(1)
    with pytest.raises(
        AttributeError, match="flow.config has no 'ctrl_prt'. Did you mean 'ctrl_po"
    ):
        flow.config.ctrl_prt(1)


@pytest.mark.parametrize("value", [np.zeros(3, np.float32), np.zeros(2), [1.0, 2.0]])
def test_arguments_must_fit_their_definitions(value: Any) -> None:
    @flow.function
    def job(x: Any = ONE) -> Any:
        return x

    with pytest.raises((MoxTypeError, MoxValueError), match="job job, argument x"):
        job(value)


def test_the_later_spelling_of_jobs() -> None:
    config = flow.FunctionConfig()
    config.default_data_type(flow.float)
    config.train.primary_lr(1.0)
    config.train.model_update_conf({"naive_conf": {}})

    @flow.global_function(config)
    def job(x: Any = flow.MirroredTensorDef((4,))) -> Any:  # noqa: B008
        w = flow.get_variable("w", (1,), initializer=flow.ones_initializer())
        loss = x * w
        flow.losses.add_loss(loss)
        return loss

    flow.train.CheckPoint().init()

    call: Any = job
    assert call([X]).get().ndarray_list()[0].tolist() == [1, 2]
    assert call([X]).get().tolist() == [-0.5, -1]


def test_watchers_see_values_and_gradients() -> None:
    seen: dict[str, Any] = {}

    @flow.function
    def job(x: Any = ONE) -> Any:
        flow.config.train.primary_lr(1.0)
        flow.config.train.model_update_conf({"naive_conf": {}})
        w = flow.get_variable("w", (1,), initializer=flow.ones_initializer())
        y = x * w
        flow.watch(y, lambda value: seen.update(y=value.tolist()))
        flow.watch_diff(y, lambda value: seen.update(dy=value.tolist()))
        flow.losses.add_loss(flow.math.square(y))
        return y

    flow.train.CheckPoint().init()
    job(X).get()

    assert seen == {"y": [1, 2], "dy": [2, 4]}


def test_variable_scopes_prefix_names() -> None:
    @flow.function
    def job() -> Any:
        with flow.deprecated.variable_scope("a"), flow.scope.namespace("b"):
            return flow.get_variable("w", (1,), initializer=flow.ones_initializer())

    @flow.function
    def same() -> Any:
        with flow.fixed_placement("gpu", "0:0"):
            return flow.get_variable("a-b-w", (1,), initializer=flow.ones_initializer())

    flow.train.CheckPoint().init()
    assert same().get().tolist() == job().get().tolist() == [1]
    assert list(flow_session().variables.by_name) == ["a-b-w"]


def flow_session() -> Any:
    from moxing.flow.runtime import session

    return session.default()


def test_saturated_losses_are_clamped_and_have_no_gradient() -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((1, 2)), y: Any = flow.FixedTensorDef((1,), flow.int32)):  # noqa: B008
        flow.config.train.primary_lr(1.0)
        flow.config.train.model_update_conf({"naive_conf": {}})
        w = flow.get_variable("w", (2,), initializer=flow.ones_initializer())
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(y, x * w)
        flow.losses.add_loss(loss)
        return loss, w

    flow.train.CheckPoint().init()
    logits, label = np.array([[1e5, 0]], np.float32), np.array([1], np.int32)
    job(logits, label).get()
    loss, w = job(logits, label).get()

    assert loss[0] == pytest.approx(46.0517, abs=1e-4)
    assert w.tolist() == [1, 1]


def _config() -> Any:
    config = flow.FunctionConfig()
    config.train.primary_lr(1.0)
    config.train.model_update_conf({"naive_conf": {}})
    return config


def _of_w() -> Any:
    """What w is; in a train job it grows by 1 at each step."""
    w = flow.get_variable("w", (1,), initializer=flow.zeros_initializer())
    if context.required("this").conf.is_train:
        flow.losses.add_loss(w * -1.0)
    return w


def test_a_global_functions_config_and_type_come_in_either_order_and_by_name() -> None:
    config, jobs = _config(), []
    decorators = [
        flow.global_function(config),
        flow.global_function("train", config),
        flow.global_function(config, "train"),
        flow.global_function(type="train", function_config=config),
        flow.global_function("train", function_config=config),
    ]
    for number, decorator in enumerate(decorators):

        def job() -> Any:
            return _of_w()

        job.__name__ = f"train{number}"
        jobs.append(decorator(job))

    @flow.global_function("predict", config)
    def predict() -> Any:
        return _of_w()

    @flow.global_function()
    def plain() -> Any:
        return _of_w()

    flow.train.CheckPoint().init()
    for job in [*jobs, predict, plain, predict]:
        job()
    assert predict().get().tolist() == [len(jobs)]


def test_a_global_functions_type_must_fit_what_is_set() -> None:
    @flow.global_function(type="train")
    def job() -> Any:
        return _of_w()

    with pytest.raises(MoxValueError, match=r"job needs flow.config.train.primary_lr\(...\) at"):
        flow.train.CheckPoint().init()
    flow.clear_default_session()

    @flow.global_function("predict")
    def other() -> Any:
        flow.config.train.primary_lr(1.0)
        return _of_w()

    with pytest.raises(MoxRuntimeError) as caught:
        flow.train.CheckPoint().init()
    assert str(caught.value) == (
        "flow.config.train.primary_lr was called in job other, which @flow.global_function makes a"
        " predict job. Give it type='train', or no type."
    )


def test_what_global_function_does_not_take_is_refused() -> None:
    with pytest.raises(MoxTypeError) as caught:
        flow.global_function("train", {"primary_lr": 1})
    assert str(caught.value) == (
        "flow.global_function takes a FunctionConfig and a type, not 'train', {'primary_lr': 1}."
        " Write @flow.global_function(config)."
    )
    with pytest.raises(MoxValueError, match="type='trian'; it is 'train' or 'predict'"):
        flow.global_function("trian", _config())
    other: Any = {"config": _config()}
    with pytest.raises(TypeError, match="unexpected keyword argument 'config'"):
        flow.global_function(**other)
