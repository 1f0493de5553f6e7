"""The numbered pitfalls of MoXing's manual, each as its users met it, and what happens now."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import warm

import moxing.tensorflow as mox
from moxing.cluster.rendezvous import ports
from moxing.cluster.resolve import resolve
from moxing.errors import ExportExistsError, MoxRuntimeError, MoxTypeError

Said = Callable[[str], list[str]]

PROGRAM = """
import argparse
import tensorflow as tf
tf.flags.DEFINE_string('data_url', 's3://default', 'Data.')
tf.flags.DEFINE_string('int_list', '0,1,2', None)
tf.flags.DEFINE_integer('depth', 50, 'Layers.')
print('2-1-1', tf.flags.FLAGS.depth)  # Before any parsing, at import.
import moxing.tensorflow as mox
print('2-1-2', [int(item) for item in tf.flags.FLAGS.int_list.split(',')])
parser = argparse.ArgumentParser()
for name in ('data_url', 'depth'):
    parser.add_argument('--' + name)
print('2-2-1', parser.parse_args().depth, mox.get_flag('num_gpus'))
from module_dir import module_file
print('2-4-2', module_file.NAME)
print('2-4-3', repr(tf.flags.FLAGS.data_url))
open('s3://dls-test/a.txt')
"""


def mox_run(folder: Path, *arguments: str) -> str:
    done = warm.run(
        [sys.executable, "-m", "moxing", "run", "project/main.py", *arguments],
        cwd=folder,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a program prints that falls into all pitfalls of section 2 that need no second one."""
    folder = tmp_path_factory.mktemp("pitfalls")
    (folder / "project" / "module_dir").mkdir(parents=True)
    (folder / "project" / "main.py").write_text(PROGRAM)
    (folder / "project" / "module_dir" / "module_file.py").write_text("NAME = 'found'\n")
    return mox_run(folder, "--num_gpus=1", "--data_url=", "--depth=18")


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[Said]:
    with caplog.at_level(logging.INFO):
        yield lambda text: [message for message in caplog.messages if text in message]


def train(**arguments: Any) -> Any:
    """A run of two steps on two features; arguments of mox.run replace these."""

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        weight = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
        value = tf.reduce_mean(tf.matmul(inputs[0], weight))
        return mox.ModelSpec(
            loss=value,
            log_info={"loss": value},
            export_spec=mox.ExportSpec({"x": inputs[0]}, {"y": tf.matmul(inputs[0], weight)}, 1),
        )

    given = {
        "input_fn": lambda mode: tf.constant([[1.0, 2.0]]),
        "model_fn": model_fn,
        "optimizer_fn": mox.get_optimizer_fn("sgd", 0.1),
        "run_mode": mox.ModeKeys.TRAIN,
        "max_number_of_steps": 2,
    }
    return mox.run(**(given | arguments))


@pytest.mark.slow
def test_pitfall_2_1_1_flags_are_there_when_first_read(printed: str) -> None:
    assert "2-1-1 18" in printed


@pytest.mark.slow
def test_pitfall_2_1_2_a_list_in_a_string(printed: str) -> None:
    assert "2-1-2 [0, 1, 2]" in printed


@pytest.mark.slow
def test_pitfall_2_2_1_a_strict_parser_does_not_see_framework_flags(printed: str) -> None:
    assert "2-2-1 18 1" in printed


def test_pitfall_2_3_1_a_wrong_task_index_is_told_before_anything_waits() -> None:
    hosts = "127.0.0.1:2223,198.51.100.7:2223"
    cluster = resolve(
        {"job_name": "worker", "task_index": 1, "ps_hosts": "", "worker_hosts": hosts}, {}, ""
    )
    assert cluster is not None
    with pytest.raises(MoxRuntimeError) as caught:
        ports.take(cluster)
    assert "198.51.100.7 is not an address of this machine" in str(caught.value)
    assert str(caught.value).endswith("Check the task index.")


@pytest.mark.slow
def test_pitfall_2_4_1_open_of_a_url_names_mox_file(printed: str) -> None:
    assert "do not read: use mox.file.* or mox.file.shift('os','mox')" in printed.replace("\n", " ")


@pytest.mark.slow
def test_pitfall_2_4_2_modules_beside_the_script(printed: str) -> None:
    assert "2-4-2 found" in printed


@pytest.mark.slow
def test_pitfall_2_4_3_a_flag_that_the_platform_left_empty(printed: str) -> None:
    assert "2-4-3 ''" in printed
    assert re.search("WARNING:root:.*flag data_url is empty", printed)


def _class_folders(folder: Path, names: list[str]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        image = session.run(tf.io.encode_jpeg(tf.zeros([8, 8, 3], tf.uint8)))
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "0.jpg").write_bytes(image)


def test_pitfall_3_1_1_numbers_in_the_order_of_text(tmp_path: Path, said: Said) -> None:
    _class_folders(tmp_path, ["1", "2", "10"])
    metadata = mox.ImageClassificationRawMetadata(base_dir=str(tmp_path))
    assert metadata.labels_list == ["1", "10", "2"]
    assert said("are in the order of text, not of numbers: label 1 is '10', not '2'")
    (tmp_path / "labels.txt").write_text("0: 1\n1: 2\n2: 10\n")
    metadata = mox.ImageClassificationRawMetadata(base_dir=str(tmp_path))
    assert metadata.labels_list == ["1", "2", "10"]


def test_pitfall_3_4_1_counting_records_is_announced(tmp_path: Path, said: Said) -> None:
    with tf.io.TFRecordWriter(str(tmp_path / "train-0.tfrecord")) as writer:
        for _ in range(3):
            writer.write(tf.train.Example().SerializeToString())
    arguments = {"base_dir": str(tmp_path), "file_pattern": "*.tfrecord"}
    metadata = mox.ImageClassificationTFRecordMetadata(**arguments)
    assert metadata.total_num_samples == 3
    assert said("Automatically extracting num_samples from tfrecord: 1 files in")
    before = len(said("Automatically"))
    mox.ImageClassificationTFRecordMetadata(num_samples=3, **arguments)
    assert len(said("Automatically")) == before


def test_pitfall_3_4_2_resized_images_are_augmented_as_bytes_are() -> None:
    augment = mox.get_data_augmentation_fn("resnet_v1_50", "EVAL", 32, 32)
    pixels = np.random.RandomState(0).randint(0, 256, [40, 40, 3]).astype(np.uint8)
    with tf.Graph().as_default(), tf.Session() as session:
        of_bytes, of_floats = session.run(
            [augment(tf.constant(image)) for image in (pixels, pixels.astype(np.float32))]
        )
    np.testing.assert_allclose(of_bytes, of_floats, atol=1e-3)


def test_pitfall_4_0_1_inputs_is_a_list_and_errors_say_so() -> None:
    with pytest.raises(Exception, match=".") as caught:
        train(model_fn=lambda inputs, mode: tf.layers.flatten(inputs))
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "inputs is a list also where it holds one tensor: images = inputs[0]" in told


def test_pitfall_4_1_1_export_without_an_image_size(said: Said) -> None:
    build = mox.get_model_fn("lenet", "EXPORT", 10)
    with tf.Graph().as_default():
        build(tf.placeholder(tf.float32, [None, None, None, 1]))
    assert said("`image_height` and `image_width` are not given to `mox.get_model_fn` in EXPORT")


def test_pitfall_4_1_2_each_device_gets_its_own_regularization_losses() -> None:
    seen: list[tuple[int, int]] = []

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        weight = tf.get_variable("w", [2, 1], regularizer=lambda w: tf.reduce_sum(tf.square(w)))
        key = tf.GraphKeys.REGULARIZATION_LOSSES
        losses = mox.get_collection(key)
        seen.append((len(losses), len(tf.get_collection(key))))
        loss = tf.reduce_mean(tf.matmul(inputs[0], weight)) + tf.add_n(losses)
        return mox.ModelSpec(loss=loss)

    mox.set_flag("num_gpus", 2)
    train(model_fn=model_fn)
    assert [own for own, _ in seen] == [1, 1]


def test_pitfall_4_4_1_a_name_instead_of_a_version_prints_a_hint(
    tmp_path: Path, said: Said
) -> None:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        weight = tf.get_variable("w", [2, 1])
        value = tf.matmul(inputs[0], weight)
        spec = mox.ExportSpec({"x": inputs[0]}, {"y": value}, version="model")
        return mox.ModelSpec(loss=tf.reduce_mean(value), export_spec=spec)

    train(model_fn=model_fn, log_dir=str(tmp_path), export_model=mox.ExportKeys.TF_SERVING)
    assert said("a number: pass version=-1, or an int, where it has to.")
    train(log_dir=str(tmp_path), export_model=True, max_number_of_steps=3)
    assert (tmp_path / "1" / "saved_model.pb").exists()


def test_pitfall_4_4_2_channels_first_is_built_and_exported_for_a_cpu(said: Said) -> None:
    for mode in ("TRAIN", "EXPORT"):
        with tf.Graph().as_default(), tf.Session() as session:
            build = mox.get_model_fn(
                "lenet", mode, 10, data_format="NCHW", image_height=28, image_width=28
            )
            logits, _ = build(tf.ones([2, 28, 28, 1]))
            session.run(tf.global_variables_initializer())
            assert session.run(logits).shape == (2, 10)
    assert said("data_format='NCHW' needs a GPU and there is none: the network is built as NHWC")


def test_pitfall_4_4_3_an_export_directory_in_the_way_is_told_before_training(
    tmp_path: Path, said: Said
) -> None:
    (tmp_path / "1").mkdir()
    with pytest.raises(ExportExistsError, match="Export directory already exists. Please specify"):
        train(log_dir=str(tmp_path), export_model=True)
    assert issubclass(ExportExistsError, AssertionError)
    assert not said("step: 0")


def test_pitfall_4_4_4_a_variable_without_get_variable_trains(tmp_path: Path) -> None:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        weight = tf.Variable([[1.0], [1.0]], name="plain")
        return mox.ModelSpec(loss=tf.reduce_mean(tf.matmul(inputs[0], weight)))

    train(model_fn=model_fn, log_dir=str(tmp_path))
    found = tf.train.load_checkpoint(f"{tmp_path}/model.ckpt-2").get_tensor("plain")
    np.testing.assert_allclose(found, [[0.8], [0.6]], rtol=1e-6)


def test_pitfall_5_1_1_an_optimizer_in_place_of_a_function() -> None:
    with pytest.raises(MoxTypeError) as caught:
        train(optimizer_fn=tf.train.MomentumOptimizer(0.1, 0.9))
    assert str(caught.value) == (
        "optimizer_fn is a MomentumOptimizer object, which is not callable. Pass a function that"
        " returns it: optimizer_fn=lambda: tf.train.MomentumOptimizer(...), or"
        " mox.get_optimizer_fn(...)."
    )


def test_pitfall_5_2_1_wrappers_of_workers_that_wait_for_each_other(said: Said) -> None:
    def wrap() -> None:
        opt = tf.train.GradientDescentOptimizer(0.1)
        mox.get_optimizer_wrapper_fn("batch_gradients", opt, num_batches=2)()

    line = "Using OptimizerWrapper when sync_replicas is True may cause performance loss."
    wrap()
    assert said(line) == []
    mox.set_flag("worker_hosts", "a:1,b:1")
    wrap()
    assert said(line) == [line]
    mox.set_flag("sync_replicas", False)
    wrap()
    assert said(line) == [line]


def test_pitfall_6_0_1_a_run_that_has_nothing_left_to_do(tmp_path: Path, said: Said) -> None:
    train(log_dir=str(tmp_path))
    assert train(log_dir=str(tmp_path)).steps == 0
    assert any(str(tmp_path) in line for line in said("max_number_of_steps"))


def test_pitfall_6_0_2_evaluations_of_all_samples_are_equal(tmp_path: Path) -> None:
    train(log_dir=str(tmp_path))

    def evaluate() -> dict[str, float]:
        def input_fn(mode: str) -> Any:
            numbers = tf.data.Dataset.range(7).shuffle(7)
            number = tf.data.make_one_shot_iterator(numbers).get_next()
            return tf.fill([2], tf.to_float(number))

        result = train(
            input_fn=input_fn,
            run_mode="EVAL",
            batch_size=3,
            log_dir=str(tmp_path),
            max_number_of_steps=10,
        )
        return dict(result.metrics)

    first = evaluate()
    assert first["loss"] == pytest.approx(3.0 * 1.4, rel=1e-5)
    assert evaluate()["loss"] == pytest.approx(first["loss"], rel=1e-6)
