"""The pitfalls of exports that MoXing's manual numbers, each met with what openmox does."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.errors import ExportExistsError

Run = Callable[..., Any]
Said = Callable[..., list[str]]
EXPORT: dict[str, Any] = {"export_model": mox.ExportKeys.TF_SERVING}
IMAGES = np.random.default_rng(0).integers(0, 255, [2, 32, 32, 3]).astype(np.float32)


def images_fn(mode: str) -> list[tf.Tensor]:
    return [tf.constant(IMAGES), tf.constant([0, 1])]


def classifier(inputs: Any, mode: str) -> mox.ModelSpec:
    """As the manual's section 4.4 prints it: NCHW, and no image_height and image_width."""
    images, labels = inputs
    logits, _ = mox.get_model_fn(
        name="resnet_v1_20", run_mode=mode, num_classes=2, data_format="NCHW"
    )(images)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    spec = mox.ExportSpec({"images": images}, {"logits": logits})
    return mox.ModelSpec(loss=loss, log_info={"loss": loss}, export_spec=spec)


def versioned(version: int | str) -> Callable[..., mox.ModelSpec]:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        logits = tf.matmul(inputs[0], tf.get_variable("w", [3, 2]))
        loss = tf.losses.sparse_softmax_cross_entropy(inputs[1], logits)
        spec = mox.ExportSpec({"x": inputs[0]}, {"y": logits}, version=version)
        return mox.ModelSpec(loss=loss, log_info={"loss": loss}, export_spec=spec)

    return model_fn


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str]]:
    """The classifier's export directory, and what the run logged as warnings."""
    lines: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("tensorflow").addHandler(handler)
    try:
        result = mox.run(
            input_fn=images_fn,
            model_fn=classifier,
            optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.01),
            run_mode=mox.ModeKeys.TRAIN,
            max_number_of_steps=1,
            log_dir=str(tmp_path_factory.mktemp("log")),
            **EXPORT,
        )
    finally:
        logging.getLogger("tensorflow").removeHandler(handler)
    assert result.export_dir is not None
    return result.export_dir, lines


def test_pitfall_4_1_1_the_size_of_the_images_is_used(exported: tuple[str, list[str]]) -> None:
    assert (
        "`image_height` and `image_width` are not given to `mox.get_model_fn` in EXPORT mode:"
        " using 32x32, the size of the images"
    ) in exported[1]


def test_pitfall_4_4_2_an_nchw_network_is_exported_for_a_cpu(
    exported: tuple[str, list[str]],
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(session, ["serve"], exported[0])
        signature = meta.signature_def["serving_default"]
        feed = {signature.inputs["images"].name: IMAGES}
        logits = session.run(signature.outputs["logits"].name, feed)
        layouts = {
            op.get_attr("data_format")
            for op in session.graph.get_operations()
            if op.type in ("Conv2D", "MaxPool", "AvgPool", "FusedBatchNormV3")
        }
    assert logits.shape == (2, 2)
    assert np.isfinite(logits).all()
    assert layouts == {b"NHWC"}


def test_pitfall_4_4_1_versions_are_numbers_and_a_name_is_pointed_out(
    run: Run, said: Said, tmp_path: Path
) -> None:
    run(model_fn=versioned(-1), log_dir=tmp_path, **EXPORT)
    assert not [line for line in said() if "TensorFlow Serving only finds" in line]
    assert (tmp_path / "1" / "saved_model.pb").is_file()
    assert (tmp_path / "1" / "variables" / "variables.index").is_file()
    run(model_fn=versioned("model"), log_dir=tmp_path, max_number_of_steps=4, **EXPORT)
    assert (
        f"The model will be exported to {tmp_path}/model. TensorFlow Serving only finds directories"
        " named by a number: pass version=-1, or an int, where it has to."
    ) in said()


def test_pitfall_4_4_3_an_existing_directory_is_refused_before_training(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "1").mkdir()
    with pytest.raises(ExportExistsError) as raised:
        run(model_fn=versioned(1), log_dir=tmp_path, **EXPORT)
    assert str(raised.value) == (
        "Export directory already exists. Please specify a different export directory:"
        f" {tmp_path}/1"
    )
    assert not list(tmp_path.glob("model.ckpt*"))
    assert run(model_fn=versioned(-1), log_dir=tmp_path, **EXPORT).export_dir == f"{tmp_path}/2"


def test_pitfall_4_4_4_variables_of_tf_variable_are_trained_and_exported(
    run: Run, tmp_path: Path
) -> None:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        bias = tf.Variable([0.0, 0.0], name="bias")
        weights = tf.get_variable("w", [3, 2], initializer=tf.zeros_initializer())
        logits = tf.matmul(inputs[0], weights) + bias
        loss = tf.losses.sparse_softmax_cross_entropy(inputs[1], logits)
        spec = mox.ExportSpec({"x": inputs[0]}, {"bias": bias + 0.0 * logits})
        return mox.ModelSpec(loss=loss, log_info={"loss": loss}, export_spec=spec)

    result = run(
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("adam", learning_rate=0.1),
        log_dir=tmp_path,
        **EXPORT,
    )
    trained = tf.train.load_checkpoint(result.checkpoint).get_tensor("bias")
    assert np.abs(trained).min() > 0.01
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(session, ["serve"], result.export_dir)
        signature = meta.signature_def["serving_default"]
        feed = {signature.inputs["x"].name: np.ones([4, 3])}
        served = session.run(signature.outputs["bias"].name, feed)
    np.testing.assert_allclose(served, [trained] * 4, rtol=1e-6)


def test_labels_of_the_log_dir_are_among_the_assets(run: Run, tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("0: no\n1: yes\n")
    run(model_fn=versioned(-1), log_dir=tmp_path, **EXPORT)
    assert (tmp_path / "1" / "assets" / "labels.txt").read_text() == "0: no\n1: yes\n"


def test_several_kinds_in_one_directory(run: Run, tmp_path: Path) -> None:
    kinds = [mox.ExportKeys.TF_SERVING, mox.ExportKeys.FROZEN_GRAPH]
    result = run(model_fn=versioned(-1), log_dir=tmp_path, export_model=kinds)
    names = {path.name for path in Path(result.export_dir).iterdir()}
    assert names == {"saved_model.pb", "variables", "frozen_graph.pb", "frozen_graph.json"}
