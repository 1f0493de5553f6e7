"""An exported model loads everywhere, gives the session's outputs, and appears whole or not."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf
import tf_keras
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from moxing.engine import export
from moxing.engine.export import ExportSignature
from moxing.errors import ExportExistsError, MoxValueError
from moxing.framework.owners import Owner

BATCH = np.arange(8, dtype=np.float32).reshape(2, 4)
Model = Callable[[tf.Tensor], tf.Tensor]


def _linear(x: tf.Tensor) -> tf.Tensor:
    weights = tf.get_variable("w", [4, 3], use_resource=True)
    return tf.matmul(x, weights) + tf.get_variable("b", [3], use_resource=True)


def _old_variables(x: tf.Tensor) -> tf.Tensor:
    return tf.matmul(x, tf.get_variable("w", [4, 3], use_resource=False))


def _partitioned(x: tf.Tensor) -> tf.Tensor:
    part = tf.fixed_size_partitioner(2)
    return tf.matmul(x, tf.get_variable("w", [4, 3], partitioner=part, use_resource=True))


def _batch_norm(x: tf.Tensor) -> tf.Tensor:
    return tf_keras.layers.BatchNormalization()(tf_keras.layers.Dense(3)(x), training=False)


def _on_a_gpu(x: tf.Tensor) -> tf.Tensor:
    with tf.device("/device:GPU:0"):
        scale = tf.get_variable("scale", [], use_resource=True)
        return tf.cond(tf.reduce_sum(x) > 0, lambda: x * scale, lambda: x - scale)


def _looping(x: tf.Tensor) -> tf.Tensor:
    scale = tf.get_variable("scale", [], use_resource=True)
    return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * scale), (0, x))[1]


def _constant(x: tf.Tensor) -> tf.Tensor:
    return x * 2.0


def _local_state(x: tf.Tensor) -> tf.Tensor:
    local = [tf.GraphKeys.LOCAL_VARIABLES]
    init = tf.constant_initializer(3.0)
    return x * tf.get_variable("s", [], initializer=init, collections=local, use_resource=True)


MODELS = [
    _linear,
    _old_variables,
    _partitioned,
    _batch_norm,
    _on_a_gpu,
    _looping,
    _constant,
    _local_state,
]


def _train(model: Model, folder: Path) -> tuple[str, np.ndarray]:
    """A checkpoint with random values, and what the model makes of BATCH with them."""
    with tf.Graph().as_default():
        output = model(tf.constant(BATCH))
        unrelated = tf.get_variable("optimizer/slot", [5], use_resource=True)
        config = tf.ConfigProto(allow_soft_placement=True)
        with tf.Session(config=config) as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            assert unrelated.shape == [5]
            prefix = tf.train.Saver().save(session, str(folder / "model.ckpt"), 10)
            return prefix, session.run(output)


def _build(model: Model) -> tuple[tf.Graph, ExportSignature]:
    with tf.Graph().as_default() as graph:
        fed = export.placeholders([tf.zeros([32, 4])], True)
        signature = ExportSignature({"images": fed[0]}, {"logits": model(fed[0])})
        export.check(signature, fed)
    return graph, signature


def _export(model: Model, folder: Path, name: str = "model") -> tuple[str, np.ndarray]:
    prefix, expected = _train(model, folder)
    directory = export.target(str(folder), name)
    assert export.write(*_build(model), prefix, directory) == directory
    return directory, expected


@pytest.mark.parametrize("model", MODELS)
def test_tensorflow_2_and_1_load_the_same_outputs(model: Model, tmp_path: Path) -> None:
    directory, expected = _export(model, tmp_path)
    loaded = tf2.saved_model.load(directory)
    assert sorted(loaded.signatures) == ["predict_object", "serving_default"]
    for signature in loaded.signatures.values():
        for batch in (BATCH, np.concatenate([BATCH] * 3)):  # Any batch size.
            logits = signature(images=tf2.constant(batch))["logits"].numpy()
            np.testing.assert_allclose(logits[:2], expected, rtol=1e-6, atol=1e-6)
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(session, ["serve"], directory)
        names = meta.signature_def["predict_object"]
        logits = session.run(names.outputs["logits"].name, {names.inputs["images"].name: BATCH})
        np.testing.assert_allclose(logits, expected, rtol=1e-6, atol=1e-6)


def test_what_is_written(tmp_path: Path) -> None:
    directory, _ = _export(_on_a_gpu, tmp_path)
    assert sorted(os.listdir(directory)) == ["saved_model.pb", "variables"]
    (meta,) = SavedModel.FromString(Path(directory, "saved_model.pb").read_bytes()).meta_graphs
    assert list(meta.meta_info_def.tags) == ["serve"]
    functions = meta.graph_def.library.function
    nodes = [*meta.graph_def.node, *(node for f in functions for node in f.node_def)]
    assert len(functions) > 0
    assert {node.device for node in nodes} == {""}
    method = meta.signature_def["serving_default"].method_name
    assert method == "tensorflow/serving/predict"
    shape = meta.signature_def["serving_default"].inputs["images"].tensor_shape
    assert [size.size for size in shape.dim] == [-1, 4]


def test_the_log_lines(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    prefix, _ = _train(_linear, tmp_path)
    built = _build(_linear)
    with caplog.at_level(logging.INFO, "tensorflow"):
        export.write(*built, prefix, str(tmp_path / "model"))
    lines = [line for line in caplog.record_tuples if line[1] == logging.INFO]
    assert lines == [
        ("tensorflow", logging.INFO, f"Restoring parameters from {prefix}"),
        ("tensorflow", logging.INFO, "No assets to save."),
        ("tensorflow", logging.INFO, "No assets to write."),
        ("tensorflow", logging.INFO, f"SavedModel written to: {tmp_path}/model/saved_model.pb"),
    ]


def test_a_table_and_its_vocabulary(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    words = tmp_path / "words.txt"
    words.write_text("tulip\nrose\n")

    def model(x: tf.Tensor) -> tf.Tensor:
        lines = (tf.string, tf.lookup.TextFileIndex.WHOLE_LINE)
        numbers = (tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER)
        reader = tf.lookup.TextFileInitializer(str(words), *lines, *numbers)
        table = tf.lookup.StaticHashTable(reader, -1)
        scale = tf.get_variable("scale", [], tf.int64, tf.ones_initializer(), use_resource=True)
        return table.lookup(x) * scale

    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("scale", [], tf.int64, tf.ones_initializer(), use_resource=True)
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.string, [None])
        signature = ExportSignature({"word": x}, {"index": model(x)})
    with caplog.at_level(logging.INFO, "tensorflow"):
        export.write(graph, signature, prefix, str(tmp_path / "1"))
    assert f"Assets written to: {tmp_path}/1/assets" in caplog.messages
    assert not [line for line in caplog.messages if "unfinished" in line]
    words.unlink()
    served = tf2.saved_model.load(str(tmp_path / "1")).signatures["serving_default"]
    index = served(word=tf2.constant(["rose", "tulip", "weed"]))["index"]
    assert index.numpy().tolist() == [1, 0, -1]


def test_a_table_filled_by_training(tmp_path: Path) -> None:
    def table() -> Any:
        keys = {"empty_key": -1, "deleted_key": -2}
        return tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, 0, **keys, name="seen")

    with tf.Graph().as_default(), tf.Session() as session:
        session.run(table().insert(tf.constant([7], tf.int64), tf.constant([70], tf.int64)))
        prefix = tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.int64, [None])
        signature = ExportSignature({"x": x}, {"y": table().lookup(x)})
    export.write(graph, signature, prefix, str(tmp_path / "1"))
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(session, ["serve"], str(tmp_path / "1"))
        names = meta.signature_def["serving_default"]
        found = session.run(names.outputs["y"].name, {names.inputs["x"].name: [7, 8]})
        assert found.tolist() == [70, 0]


def test_sparse_inputs_and_outputs(tmp_path: Path) -> None:
    prefix, _ = _train(_linear, tmp_path)
    with tf.Graph().as_default() as graph:
        fed = export.placeholders([tf.SparseTensor([[0, 1]], [1.0], [8, 4])], True)
        signature = ExportSignature({"words": fed[0]}, {"doubled": fed[0] * 2.0})
        export.check(signature, fed)
    export.write(graph, signature, prefix, str(tmp_path / "1"))
    served = tf2.saved_model.load(str(tmp_path / "1")).signatures["serving_default"]
    given = {
        "words_indices": tf2.constant([[1, 3]], tf.int64),
        "words_values": tf2.constant([5.0]),
        "words_dense_shape": tf2.constant([2, 4], tf.int64),
    }
    assert tf2.sparse.to_dense(served(**given)["doubled"]).numpy()[1].tolist() == [0, 0, 0, 10]


def test_derived_inputs_are_fed_in_the_middle_of_the_graph(tmp_path: Path) -> None:
    prefix, _ = _train(_linear, tmp_path)
    with tf.Graph().as_default() as graph:
        fed = export.placeholders([tf.zeros([8, 4])], True)
        hidden = tf.exp(fed[0])
        signature = ExportSignature({"hidden": hidden}, {"y": hidden + 1.0})
        export.check(signature, fed)
    export.write(graph, signature, prefix, str(tmp_path / "1"))
    served = tf2.saved_model.load(str(tmp_path / "1")).signatures["serving_default"]
    assert served(hidden=tf2.constant(BATCH))["y"].numpy().tolist() == (BATCH + 1).tolist()


def test_variables_that_nothing_needs_may_be_missing(tmp_path: Path) -> None:
    prefix, expected = _train(_linear, tmp_path)

    def with_another(x: tf.Tensor) -> tf.Tensor:
        tf.get_variable("only_here", [7], use_resource=True)
        return _linear(x)

    export.write(*_build(with_another), prefix, str(tmp_path / "1"))
    served = tf2.saved_model.load(str(tmp_path / "1")).signatures["serving_default"]
    logits = served(images=tf2.constant(BATCH))["logits"].numpy()
    np.testing.assert_allclose(logits, expected, rtol=1e-6)


def test_missing_and_misshapen_variables(tmp_path: Path) -> None:
    prefix, _ = _train(_linear, tmp_path)

    def renamed(x: tf.Tensor) -> tf.Tensor:
        with tf.variable_scope("head"):
            return _linear(x)

    with pytest.raises(MoxValueError) as raised:
        export.write(*_build(renamed), prefix, str(tmp_path / "1"))
    assert str(raised.value).startswith(
        f"The exported model needs variables that the checkpoint {prefix} does not have: 'head/"
    )

    def wider(x: tf.Tensor) -> tf.Tensor:
        return tf.matmul(x, tf.get_variable("w", [4, 9], use_resource=True))

    with pytest.raises(MoxValueError) as raised:
        export.write(*_build(wider), prefix, str(tmp_path / "1"))
    assert str(raised.value) == (
        "Variable 'w' has the shape (4, 9) in the export graph and (4, 3) in the checkpoint"
        f" {prefix}. model_fn must make the same variables, under the same names, in EXPORT mode as"
        " in TRAIN mode."
    )
    assert not [name for name in os.listdir(tmp_path) if "unfinished" in name or name == "1"]


def test_a_failure_at_any_step_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix, _ = _train(_linear, tmp_path)
    before = sorted(os.listdir(tmp_path))

    def fail(*args: Any, **kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    steps = [
        (tf.train.Saver, "restore"),
        (tf.train.Saver, "save"),
        (tf.saved_model.Builder, "save"),
        (os, "fsync"),
        (os, "rename"),
    ]
    for owner, name in steps:
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, fail)
            with pytest.raises(OSError, match="No space left"):
                export.write(*_build(_linear), prefix, str(tmp_path / "1"))
        assert sorted(os.listdir(tmp_path)) == before, name


def test_an_existing_target_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix, _ = _train(_linear, tmp_path)
    (tmp_path / "1").mkdir()
    with pytest.raises(ExportExistsError):
        export.write(*_build(_linear), prefix, str(tmp_path / "1"))
    real = tf.saved_model.Builder.save

    def meanwhile(*args: Any, **kwargs: Any) -> Any:
        (tmp_path / "2").mkdir()
        return real(*args, **kwargs)

    monkeypatch.setattr(tf.saved_model.Builder, "save", meanwhile)
    with pytest.raises(ExportExistsError, match=f"different export directory: {tmp_path}/2$"):
        export.write(*_build(_linear), prefix, str(tmp_path / "2"))
    assert os.listdir(tmp_path / "1") == os.listdir(tmp_path / "2") == []
    assert not [name for name in os.listdir(tmp_path) if "unfinished" in name]


def test_others_can_read_it_and_dead_exports_are_cleared(tmp_path: Path) -> None:
    """An export that a live process has begun stays, however long it takes."""
    me = Owner.this_process()
    killed = tmp_path / f".unfinished-{dataclasses.replace(me, started='1')}.0"
    running = tmp_path / f".unfinished-{me}.0"
    elsewhere = [tmp_path / f".unfinished-{Owner(7, '1', '0' * 16)}.{n}" for n in range(2)]
    for folder in (killed, running, *elsewhere):
        folder.mkdir()
    os.utime(running, (1, 1))
    os.utime(elsewhere[0], (1, 1))
    umask = os.umask(0o022)
    try:
        directory, _ = _export(_linear, tmp_path)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(os.stat(directory).st_mode) == 0o755
    assert not killed.exists()
    assert running.exists()
    assert [folder.exists() for folder in elsewhere] == [False, True]


SCRIPT = """
import json, sys
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
from moxing.engine import export
folder = sys.argv[1]
def model(x):
    return tf.layers.dense(tf.while_loop(lambda y: tf.reduce_sum(y) < 9, lambda y: y * 2, [x]), 3)
with tf.Graph().as_default(), tf.Session() as session:
    y = model(tf.ones([1, 4]))
    session.run(tf.global_variables_initializer())
    prefix = tf.train.Saver().save(session, folder + "/model.ckpt")
    expected = session.run(y).tolist()
with tf.Graph().as_default() as graph:
    fed = export.placeholders([tf.ones([1, 4])], True)
    signature = export.ExportSignature({"x": fed[0]}, {"y": model(fed[0])})
    export.check(signature, fed)
export.write(graph, signature, prefix, export.target(folder, -1))
print(json.dumps(expected))
"""


@pytest.mark.slow
def test_from_a_process_with_v1_behavior(tmp_path: Path) -> None:
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1"}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    served = tf2.saved_model.load(str(tmp_path / "1")).signatures["serving_default"]
    np.testing.assert_allclose(
        served(x=tf2.ones([1, 4]))["y"].numpy(), json.loads(done.stdout.splitlines()[-1]), rtol=1e-6
    )
