"""Frozen graphs, TensorFlow Lite and ONNX compute what the SavedModel beside them computes."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf
import tf_keras
from tensorflow.python.ops import control_flow_util

from moxing.engine import export
from moxing.engine.export import ExportSignature, convert, kinds, to_tflite
from moxing.errors import MoxImportError, MoxNotSupportedError, MoxRuntimeError

IMAGES = np.random.default_rng(1).random([3, 8, 8, 3]).astype(np.float32)


def _network(images: tf.Tensor) -> tf.Tensor:
    kernel = tf.get_variable("kernel", [3, 3, 3, 4], use_resource=True)
    net = tf.nn.relu(tf.nn.conv2d(images, kernel, [1, 1, 1, 1], "SAME"))
    net = tf_keras.layers.BatchNormalization()(net, training=False)
    net = tf.reshape(tf.nn.max_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), [-1, 64])
    return tf.matmul(net, tf.get_variable("dense", [64, 5], use_resource=True))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, np.ndarray]:
    """A checkpoint of the network, and what it makes of IMAGES."""
    folder = tmp_path_factory.mktemp("checkpoint")
    with tf.Graph().as_default(), tf.Session() as session:
        logits = _network(tf.constant(IMAGES))
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(folder / "model.ckpt"))
        return prefix, session.run(logits)


def _export(folder: Path, prefix: str, *wanted: str) -> str:
    with tf.Graph().as_default() as graph, tf.device("/device:GPU:0"):
        fed = export.placeholders([tf.zeros([2, 8, 8, 3]), tf.zeros([2])], True)
        logits = _network(fed[0])
        signature = ExportSignature(
            {"images": fed[0], "unused": fed[1]}, {"logits": logits, "class": tf.argmax(logits, 1)}
        )
        export.check_kinds(wanted, signature)
    return export.write(graph, signature, prefix, str(folder / "1"), export.Extras(wanted))


def test_a_frozen_graph(tmp_path: Path, checkpoint: tuple[str, np.ndarray]) -> None:
    prefix, expected = checkpoint
    directory = _export(tmp_path, prefix, kinds.FROZEN_GRAPH)
    assert sorted(os.listdir(directory)) == [
        "frozen_graph.json",
        "frozen_graph.pb",
        "saved_model.pb",
        "variables",
    ]
    names = json.loads(Path(directory, "frozen_graph.json").read_text())
    assert names["inputs"]["images"] == {
        "tensor": "inputs_0:0",
        "dtype": "float32",
        "shape": [None, 8, 8, 3],
    }
    assert names["outputs"]["class"]["shape"] == [None]
    graph_def = tf.GraphDef()
    graph_def.ParseFromString(Path(directory, "frozen_graph.pb").read_bytes())
    assert {node.device for node in graph_def.node} == {""}
    assert not [node for node in graph_def.node if node.op in ("VarHandleOp", "VariableV2")]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        fetches = [names["outputs"][name]["tensor"] for name in ("logits", "class")]
        given = {"images": IMAGES, "unused": np.zeros([3], np.float32)}
        feed = {names["inputs"][name]["tensor"]: value for name, value in given.items()}
        logits, top = session.run(fetches, feed)
    np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-6)
    assert top.tolist() == expected.argmax(1).tolist()


def test_a_sparse_input_has_three_tensors_in_a_frozen_graph(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", initializer=3.0, use_resource=True)
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))
    with tf.Graph().as_default() as graph:
        x = tf.sparse.placeholder(tf.float32, [None, 4])
        signature = ExportSignature({"x": x}, {"y": x * 2.0})
    directory = export.write(
        graph, signature, prefix, str(tmp_path / "1"), export.Extras([kinds.FROZEN_GRAPH])
    )
    names = json.loads(Path(directory, "frozen_graph.json").read_text())
    assert set(names["inputs"]["x"]["sparse"]) == {"indices", "values", "shape"}
    with pytest.raises(MoxNotSupportedError) as raised:
        export.check_kinds([kinds.TFLITE], signature)
    assert str(raised.value) == (
        "The export's inputs_dict['x'] is a SparseTensor, which TFLITE does not have. Use a dense"
        " tensor, or export without that kind."
    )


def test_a_table_cannot_be_frozen() -> None:
    with tf.Graph().as_default():
        words = tf.lookup.KeyValueTensorInitializer(["a"], [1], tf.string, tf.int64)
        x = tf.placeholder(tf.string, [None])
        y = tf.lookup.StaticHashTable(words, -1).lookup(x)
        signature = ExportSignature({"x": x}, {"y": y})
    with pytest.raises(MoxNotSupportedError) as raised:
        export.check_kinds([kinds.FROZEN_GRAPH], signature)
    assert str(raised.value).startswith(
        "The exported output 'y' depends on the table 'hash_table' (test_kinds.py:"
    )
    assert str(raised.value).endswith("Export without FROZEN_GRAPH: the SavedModel has them.")
    export.check_kinds([kinds.SAVED_MODEL], signature)


@pytest.mark.slow
def test_tensorflow_lite(tmp_path: Path, checkpoint: tuple[str, np.ndarray]) -> None:
    prefix, expected = checkpoint
    directory = _export(tmp_path, prefix, kinds.TFLITE)
    interpreter = tf2.lite.Interpreter(f"{directory}/model.tflite")
    served = interpreter.get_signature_runner("serving_default")
    found = served(images=IMAGES, unused=np.zeros([3], np.float32))
    np.testing.assert_allclose(found["logits"], expected, rtol=1e-4, atol=1e-5)
    assert found["class"].tolist() == expected.argmax(1).tolist()


@pytest.mark.slow
def test_onnx(tmp_path: Path, checkpoint: tuple[str, np.ndarray]) -> None:
    pytest.importorskip("tf2onnx")
    runtime = pytest.importorskip("onnxruntime")
    prefix, expected = checkpoint
    directory = _export(tmp_path, prefix, kinds.ONNX, kinds.FROZEN_GRAPH)
    session = runtime.InferenceSession(f"{directory}/model.onnx")
    given = {"images": IMAGES, "unused": np.zeros([3], np.float32)}
    given = {put.name: given[put.name] for put in session.get_inputs()}
    logits, top = session.run(["logits", "class"], given)
    np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-5)
    assert top.tolist() == expected.argmax(1).tolist()
    assert Path(directory, "frozen_graph.pb").is_file()


@pytest.mark.slow
def test_what_cannot_be_converted_leaves_the_saved_model(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", initializer=3.0, use_resource=True)
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))

    def double(x: Any) -> Any:
        return x * np.float32(2.0)

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None])
        signature = ExportSignature({"x": x}, {"y": tf.py_func(double, [x], tf.float32)})
    with pytest.raises(MoxRuntimeError) as raised:
        export.write(graph, signature, prefix, str(tmp_path / "1"), export.Extras([kinds.TFLITE]))
    text = str(raised.value)
    assert text.startswith("The model could not be converted to TFLITE: ")
    assert text.endswith(f". Its SavedModel is in {tmp_path}/1.")
    assert "PyFunc" in text
    assert sorted(os.listdir(tmp_path / "1")) == ["saved_model.pb", "variables"]


def test_a_converter_that_takes_too_long_or_crashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program.py"
    monkeypatch.setitem(convert._PROGRAMS, kinds.TFLITE, str(program))
    program.write_text("import time; time.sleep(60)")
    monkeypatch.setattr(convert, "_SECONDS", 0.5)
    reason = convert.convert(kinds.TFLITE, str(tmp_path))
    assert reason == "the converter took more than 0.5 seconds"
    monkeypatch.setattr(convert, "_SECONDS", 60)
    program.write_text("import os; os.abort()")
    assert convert.convert(kinds.TFLITE, str(tmp_path)) == "the converter ended with code -6"


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "tf2onnx" else real(name, *a)
    )
    export.check_installed([kinds.TFLITE])
    with pytest.raises(MoxImportError) as raised:
        export.check_installed([kinds.TFLITE, kinds.ONNX])
    assert str(raised.value) == (
        "Exporting to ONNX needs the package tf2onnx, which is not installed: pip install"
        " 'openmox[onnx]'."
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x.py:1:0: error: 'tf.Foo' op is not custom\nmore", "'tf.Foo' op is not custom"),
        ("\n plain \nsecond", "plain"),
        ("", "ValueError"),
    ],
)
def test_the_line_of_a_converters_error(text: str, line: str) -> None:
    assert to_tflite._short(ValueError(text)) == line


def test_loops_are_functions_for_tensorflow_lite_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_flow_util, "ENABLE_CONTROL_FLOW_V2", False)
    for chosen, functional in (([kinds.TFLITE], True), ([kinds.FROZEN_GRAPH], False)):
        with tf.Graph().as_default() as graph, export.functional_loops(chosen):
            tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
        types = {op.type for op in graph.get_operations()}
        assert ("StatelessWhile" in types, "Enter" in types) == (functional, not functional)
        assert not control_flow_util.ENABLE_CONTROL_FLOW_V2
