"""mox.InputSpec: groups of inputs, and one batch of input_fn for all devices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.errors import MoxTypeError, MoxValueError
from moxing.tensorflow.executor.input_spec import Groups

Run = Callable[..., Any]
TEACHER = np.array([[1.0], [-2.0], [0.5]], np.float32)


def batches(size: int, count: int = 40, drop: bool = False) -> Any:
    """Batches of x [size, 3] and y [size, 1], from samples that are numbered in order."""
    x = np.random.default_rng(0).normal(size=(count, 3)).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((x, x @ TEACHER, np.arange(count)))
    return data.batch(size, drop_remainder=drop)


def split(data: Any) -> mox.InputSpec:
    spec = mox.InputSpec(split_to_device=True)
    spec.new_input(list(tf.data.make_one_shot_iterator(data).get_next()))
    return spec


def model_fn(inputs: mox.InputSpec, mode: str) -> mox.ModelSpec:
    x, y, number = inputs.get_input(0)
    w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(x @ w - y))
    return mox.ModelSpec(loss=loss, log_info={"loss": loss}, output_info={"number": number})


def weights(folder: Path) -> Any:
    return tf.train.load_checkpoint(tf.train.latest_checkpoint(str(folder))).get_tensor("w")


def train(run: Run, folder: Path, devices: int, data: Any, **arguments: Any) -> list[Any]:
    """Trains on the batches of `data()`; returns the numbers of the samples of each output."""
    mox.set_flag("num_gpus", devices)
    seen: list[Any] = []
    run(
        input_fn=lambda mode: split(data()),
        model_fn=model_fn,
        output_fn=lambda outputs: seen.extend(one["number"].tolist() for one in outputs),
        output_every_n_steps=1,
        auto_batch=False,
        log_dir=str(folder),
        **({"max_number_of_steps": 4} | arguments),
    )
    return seen


@pytest.mark.parametrize("devices", [2, 4])
def test_devices_share_a_batch_and_train_as_one_device_does(
    run: Run, tmp_path: Path, devices: int
) -> None:
    alone = train(run, tmp_path / "one", 1, lambda: batches(8))
    assert alone == [list(range(first, first + 8)) for first in (0, 8, 16, 24)]
    shared = train(run, tmp_path / "many", devices, lambda: batches(8))
    assert sum(shared, []) == list(range(32))
    assert {len(part) for part in shared} == {8 // devices}
    np.testing.assert_allclose(weights(tmp_path / "many"), weights(tmp_path / "one"), rtol=1e-5)


def test_a_resumed_run_goes_on_behind_the_last_batch(run: Run, tmp_path: Path) -> None:
    train(run, tmp_path, 2, lambda: batches(8), max_number_of_steps=2)
    rest = train(run, tmp_path, 2, lambda: batches(8), max_number_of_steps=4)
    assert sum(rest, []) == list(range(16, 32))


def test_a_batch_of_changing_size_is_shared(run: Run, tmp_path: Path) -> None:
    def growing() -> Any:
        return batches(4, 8).concatenate(batches(2, 4)).concatenate(batches(6, 12))

    shared = train(run, tmp_path, 2, growing, max_number_of_steps=6)
    assert [len(part) for part in shared] == [2, 2, 2, 2, 1, 1, 1, 1, 3, 3, 3, 3]


def test_evaluation_takes_every_sample_of_uneven_batches(run: Run, tmp_path: Path) -> None:
    train(run, tmp_path, 1, lambda: batches(8))
    # 11 samples in batches of 5: the last batch of one sample leaves three devices without any.
    shared = train(
        run, tmp_path, 4, lambda: batches(5, 11), run_mode=mox.ModeKeys.EVAL, max_number_of_steps=9
    )
    assert sum(shared, []) == list(range(11))


def test_a_batch_that_devices_cannot_share_equally(run: Run, tmp_path: Path) -> None:
    with pytest.raises(MoxValueError, match=r"batch of 8 samples .* split over 3 devices"):
        train(run, tmp_path, 3, lambda: batches(8, drop=True))
    with pytest.raises(tf.errors.InvalidArgumentError, match="3 devices cannot share equally"):
        train(run, tmp_path, 3, lambda: batches(8))


def test_scalars_only_are_no_batch(run: Run, tmp_path: Path) -> None:
    with pytest.raises(MoxValueError, match="scalars only"):
        train(run, tmp_path, 2, lambda: tf.data.Dataset.from_tensors((1.0, 2.0, 3)).repeat())


def test_samples_that_the_run_batches_are_batched_for_each_device(run: Run) -> None:
    mox.set_flag("num_gpus", 2)
    shapes = []

    def seeing(inputs: mox.InputSpec, mode: str) -> mox.ModelSpec:
        shapes.append([part.shape.as_list() for part in inputs.get_input()])
        return model_fn(inputs, mode)

    run(input_fn=lambda mode: split(batches(1).unbatch()), model_fn=seeing, batch_size=4)
    assert shapes == [[[4, 3], [4, 1], [4]]] * 2


def test_groups_are_read_by_number(run: Run) -> None:
    taken = []

    def input_fn(mode: str) -> mox.InputSpec:
        spec = mox.InputSpec()
        assert spec.new_input({"a": tf.zeros([2, 5])}) == 0
        assert spec.new_input(tf.ones([2])) == 1
        assert spec.new_input((tf.ones([2, 1]), tf.ones([2, 3]))) == 2
        return spec

    def reading(inputs: mox.InputSpec, mode: str) -> mox.ModelSpec:
        first, second, (third, fourth) = (inputs.get_input(index) for index in range(len(inputs)))
        taken.append((first["a"].shape, second.shape, third.shape, fourth.shape))
        with pytest.raises(MoxValueError, match=r"get_input\(3\): input_fn added 3 groups"):
            inputs.get_input(3)
        w = tf.get_variable("w", [], initializer=tf.ones_initializer())
        return mox.ModelSpec(loss=w * tf.reduce_sum(fourth))

    run(input_fn=input_fn, model_fn=reading, auto_batch=False)
    assert taken == [([2, 5], [2], [2, 1], [2, 3])]


def test_a_lone_tensor_is_its_group(run: Run) -> None:
    def input_fn(mode: str) -> mox.InputSpec:
        spec = mox.InputSpec()
        spec.new_input(tf.ones([2, 3]))
        return spec

    def reading(inputs: mox.InputSpec, mode: str) -> mox.ModelSpec:
        assert inputs.get_input(0).shape == [2, 3]
        return mox.ModelSpec(loss=tf.get_variable("w", []) * tf.reduce_sum(inputs.get_input(0)))

    assert run(input_fn=input_fn, model_fn=reading, auto_batch=False).global_step == 3


def test_an_export_reads_the_groups_too(run: Run, tmp_path: Path) -> None:
    def exported(inputs: mox.InputSpec, mode: str) -> mox.ModelSpec:
        if mode != mox.ModeKeys.EXPORT:
            return model_fn(inputs, mode)
        x, _, _ = inputs.get_input(0)
        w = tf.get_variable("w", [3, 1])
        spec = mox.ExportSpec(inputs_dict={"x": x}, outputs_dict={"y": x @ w}, version=1)
        return mox.ModelSpec(export_spec=spec)

    mox.set_flag("num_gpus", 2)
    run(
        input_fn=lambda mode: split(batches(8)),
        model_fn=exported,
        auto_batch=False,
        log_dir=str(tmp_path),
        export_model=mox.ExportKeys.TF_SERVING,
    )
    assert len(list(tmp_path.rglob("saved_model.pb"))) == 1


def test_each_mode_may_have_inputs_of_its_own_form() -> None:
    groups, given = Groups(), []
    made: dict[str, Any] = {"TRAIN": mox.InputSpec(), "EVAL": ["plain"]}
    made["TRAIN"].new_input(["train"])
    input_fn = groups.from_input_fn(lambda mode: made[mode])
    model_fn = groups.to_model_fn(lambda inputs, mode: given.append(inputs))

    model_fn(input_fn("TRAIN"), "TRAIN")
    model_fn(input_fn("EVAL"), "EVAL")
    model_fn(["train"], "EXPORT")  # The inputs of the run's own mode.

    assert [type(one) for one in given] == [mox.InputSpec, list, mox.InputSpec]
    assert given[0].get_input(0) == given[2].get_input(0) == ["train"]


def test_wrong_values_are_refused(run: Run) -> None:
    with pytest.raises(MoxTypeError, match=r"InputSpec\(split_to_device='yes'\)"):
        mox.InputSpec(split_to_device="yes")  # pyright: ignore[reportArgumentType]
    with pytest.raises(MoxTypeError, match="takes the number of a group"):
        mox.InputSpec().get_input("0")  # pyright: ignore[reportArgumentType]
    with pytest.raises(MoxValueError, match="InputSpec without inputs"):
        run(input_fn=lambda mode: mox.InputSpec(), model_fn=model_fn)
