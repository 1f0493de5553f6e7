"""Exports of `mox.run`: where they go, what is in them, and what is refused before step 0."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.errors import ExportExistsError, MoxValueError

Run = Callable[..., Any]
Said = Callable[..., list[str]]
EXPORT = {"export_model": mox.ExportKeys.TF_SERVING}


def versioned(version: Any, calls: list[str] | None = None) -> Any:
    """A model_fn whose export has that version, and that notes the modes it is called with."""

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        if calls is not None:
            calls.append(mode)
        weights = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer())
        logits = tf.matmul(inputs[0], weights)
        loss = tf.losses.sparse_softmax_cross_entropy(inputs[1], logits)
        spec = mox.ExportSpec({"images": inputs[0]}, {"logits": logits}, version=version)
        return mox.ModelSpec(loss=loss, log_info={"loss": loss}, export_spec=spec)

    return model_fn


def predict(directory: str, signature: str = "serving_default") -> np.ndarray:
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.load(session, [tf.saved_model.SERVING], directory)
        signatures = meta.signature_def[signature]
        feed = {signatures.inputs["images"].name: np.eye(4, 3)}
        return session.run(signatures.outputs["logits"].name, feed)


def numbers_in(log_dir: Path) -> list[str]:
    return sorted(name for name in os.listdir(log_dir) if name.isdigit())


def test_exported_model_computes_what_was_trained(run: Run, tmp_path: Path) -> None:
    result = run(model_fn=versioned(-1), log_dir=tmp_path, **EXPORT)
    assert result.export_dir == f"{tmp_path}/1"
    weights = tf.train.load_checkpoint(f"{tmp_path}/model.ckpt-3").get_tensor("w")
    for signature in ("serving_default", "predict_object"):
        np.testing.assert_allclose(predict(result.export_dir, signature)[:3], weights)
    assert (weights != 1.0).all()


def test_versions_count_up(run: Run, tmp_path: Path) -> None:
    for steps, version in ((3, "1"), (4, "2"), (5, "3")):
        result = run(model_fn=versioned(-1), log_dir=tmp_path, max_number_of_steps=steps, **EXPORT)
        assert result.export_dir == f"{tmp_path}/{version}"
    (tmp_path / "41").mkdir()
    evaluated = run(
        model_fn=versioned(-1), run_mode="EVAL", log_dir=tmp_path, max_number_of_steps=1, **EXPORT
    )
    assert evaluated.export_dir == f"{tmp_path}/42"
    assert numbers_in(tmp_path) == ["1", "2", "3", "41", "42"]


@pytest.mark.parametrize("version", [0, 7, np.int64(9), "model", "00012"])
def test_version_is_the_directory(version: Any, run: Run, tmp_path: Path) -> None:
    result = run(model_fn=versioned(version), log_dir=tmp_path, **EXPORT)
    assert result.export_dir == f"{tmp_path}/{version}"
    assert (tmp_path / str(version) / "saved_model.pb").is_file()


def test_lines_of_an_export(run: Run, said: Said, tmp_path: Path) -> None:
    run(model_fn=versioned("model"), log_dir=tmp_path, **EXPORT)
    lines = said()
    directory = f"{tmp_path}/model"
    assert (
        f"The model will be exported to {directory}. TensorFlow Serving only finds directories"
        " named by a number: pass version=-1, or an int, where it has to."
    ) in lines
    assert lines.index("No assets to save.") < lines.index("No assets to write.")
    assert lines[-2] == f"SavedModel written to: {directory}/saved_model.pb"
    assert lines[-1].endswith(f"Exported model: {directory}.")


def test_true_means_serving_and_false_nothing(run: Run, tmp_path: Path) -> None:
    assert run(model_fn=versioned(-1), log_dir=tmp_path / "a", export_model=True).export_dir
    calls: list[str] = []
    run(model_fn=versioned(-1, calls), log_dir=tmp_path / "b", export_model=False)
    assert calls == ["TRAIN"]
    assert numbers_in(tmp_path / "b") == []


@pytest.mark.parametrize("version", [1, "model"])
@pytest.mark.parametrize("mode", ["TRAIN", "EVAL"])
def test_existing_directory_is_refused_before_step_0(
    mode: str, version: Any, run: Run, tmp_path: Path
) -> None:
    run(model_fn=versioned(version), log_dir=tmp_path)
    (tmp_path / str(version)).mkdir()
    calls: list[str] = []
    steps: list[int] = []

    class Counting(mox.AggregativeSessionRunHook):
        def begin(self) -> None:
            calls.append("begin")

        def before_run(self, run_context: Any) -> None:
            steps.append(1)

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        spec = versioned(version, calls)(inputs, mode)
        spec.hooks = (Counting(),)
        return spec

    with pytest.raises(ExportExistsError) as raised:
        run(run_mode=mode, model_fn=model_fn, log_dir=tmp_path, max_number_of_steps=9, **EXPORT)
    assert str(raised.value) == (
        "Export directory already exists. Please specify a different export directory:"
        f" {tmp_path}/{version}"
    )
    assert isinstance(raised.value, AssertionError)
    assert calls == [mode, "EXPORT"]
    assert steps == []
    assert not (tmp_path / "model.ckpt-9.index").exists()
    assert list((tmp_path / str(version)).iterdir()) == []


def test_bad_export_spec_is_refused_before_step_0(run: Run, tmp_path: Path) -> None:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        spec = versioned(-1)(inputs, mode)
        if mode == mox.ModeKeys.EXPORT:
            spec.export_spec = mox.ExportSpec({"images": inputs[0]}, {"loss": spec.losses[0]})
        return spec

    with pytest.raises(MoxValueError, match=r"depends on inputs\[1\] of model_fn, which is not in"):
        run(model_fn=model_fn, log_dir=tmp_path, **EXPORT)
    assert list(tmp_path.glob("model.ckpt*")) == []


def test_batch_dimension_is_open_where_samples_were_batched(run: Run, tmp_path: Path) -> None:
    shapes: list[Any] = []

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        shapes.append([tensor.shape.as_list() for tensor in inputs])
        return versioned(-1)(inputs, mode)

    def input_fn() -> Any:
        return [tf.ones([3]), tf.constant(1)]

    run(input_fn=input_fn, model_fn=model_fn, batch_size=4, log_dir=tmp_path / "a", **EXPORT)
    assert shapes == [[[4, 3], [4]], [[None, 3], [None]]]
    shapes.clear()
    run(model_fn=model_fn, log_dir=tmp_path / "b", **EXPORT)
    assert shapes == [[[4, 3], [4]], [[4, 3], [4]]]


def test_export_of_a_training_that_is_done_already(run: Run, tmp_path: Path) -> None:
    run(model_fn=versioned(-1), log_dir=tmp_path)
    result = run(model_fn=versioned(-1), log_dir=tmp_path, **EXPORT)
    assert (result.steps, result.export_dir) == (0, f"{tmp_path}/1")
    assert predict(f"{tmp_path}/1").shape == (4, 2)


def test_data_that_ends_is_exported_too(run: Run, tmp_path: Path) -> None:
    def input_fn() -> Any:
        rows = tf.data.Dataset.from_tensors((np.eye(3, dtype=np.float32), [0, 1, 1])).repeat(2)
        return tf.data.make_one_shot_iterator(rows).get_next()

    result = run(
        input_fn=input_fn,
        model_fn=versioned(-1),
        log_dir=tmp_path,
        max_number_of_steps=10**9,
        **EXPORT,
    )
    assert (result.steps, result.export_dir) == (2, f"{tmp_path}/1")
