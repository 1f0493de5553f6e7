"""Graphs, meta graphs, SavedModels and checkpoints as TensorFlow 0.12 to 1.15 wrote them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from google.protobuf import text_format
from tensorflow.python.framework import importer, meta_graph

from moxing.legacy.sessions import old_graphs


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    # So that both are what they were when the test ends.
    monkeypatch.setattr(importer, "_ProcessGraphDefParam", importer._ProcessGraphDefParam)
    name = "import_scoped_meta_graph_with_return_elements"
    monkeypatch.setattr(meta_graph, name, getattr(meta_graph, name))
    old_graphs.install()


# What a program of 0.11 wrote with tf.train.write_graph: the operation `Variable` of its time,
# placeholders without a shape, no default of any attribute, an early producer.
BY_HAND = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "w/initial_value" op: "Const"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT
    tensor_shape { dim { size: 2 } dim { size: 1 } } float_val: 2.0 float_val: 3.0 } } } }
node { name: "w" op: "Variable"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 2 } dim { size: 1 } } } }
  attr { key: "container" value { s: "" } } attr { key: "shared_name" value { s: "" } } }
node { name: "w/Assign" op: "Assign" input: "w" input: "w/initial_value"
  attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "_class" value { list { s: "loc:@w" } } } }
node { name: "w/read" op: "Identity" input: "w" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "_class" value { list { s: "loc:@w" } } } }
node { name: "y" op: "MatMul" input: "x" input: "w/read"
  attr { key: "T" value { type: DT_FLOAT } } }
versions { producer: 9 }
"""


def test_a_graph_of_0_11_by_hand() -> None:
    definition = text_format.Parse(BY_HAND, tf.GraphDef())
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(definition, name="")
        session.run("w/Assign")
        assert session.run("y:0", {"x:0": [[1.0, 10.0]]}).tolist() == [[32.0]]
        assert graph.get_tensor_by_name("x:0").shape.rank is None


def normalized(folder: Path, version: str, shape: int) -> str:
    """A meta graph with a batch norm whose fourth output is noted to have a shape; its path."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2, 2, 3], name="x")
        scale = tf.get_variable("scale", [3], initializer=tf.ones_initializer(), use_resource=False)
        results = tf.raw_ops.FusedBatchNorm(
            x=x, scale=scale, offset=tf.zeros([3]), mean=[], variance=[], name="norm"
        )
        tf.identity(results[0], name="y")
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        path = saver.save(session, str(folder / "model.ckpt"))
        meta = tf.train.export_meta_graph()
    meta.meta_info_def.tensorflow_version = version
    (node,) = [node for node in meta.graph_def.node if node.name == "norm"]
    shapes = node.attr["_output_shapes"].list.shape
    del shapes[:]
    for size in (None, 3, 3, shape, 3):
        one: Any = shapes.add()
        for dimension in (-1, 2, 2, 3) if size is None else (size,):
            one.dim.add(size=dimension)
    # From 1.9 on there is a mark in each variable's own entry.
    for collection in ("variables", "trainable_variables"):
        values = meta.collection_def[collection].bytes_list.value
        for index, value in enumerate(values):
            entry = _entry(value)
            entry.trainable = version.startswith("1.15")
            values[index] = entry.SerializeToString()
    meta.saver_def.CopyFrom(saver.as_saver_def())
    Path(path + ".meta").write_bytes(meta.SerializeToString())
    return path


def _entry(value: bytes) -> Any:
    from tensorflow.core.framework import variable_pb2

    return variable_pb2.VariableDef.FromString(value)


@pytest.mark.parametrize("version", ["0.12.head", "unknown", "1.12.0", "1.15.0-rc3", "nightly"])
def test_meta_graphs_of_each_time(tmp_path: Path, version: str) -> None:
    path = normalized(tmp_path, version, 7)
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(path + ".meta")
        saver.restore(session, path)
        images = np.random.default_rng(0).normal(size=(4, 2, 2, 3))
        result = session.run("y:0", {"x:0": images})
        np.testing.assert_allclose(result.mean(axis=(0, 1, 2)), 0, atol=1e-5)
        assert [v.name for v in tf.trainable_variables()] == ["scale:0"]


def test_they_fail_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = normalized(tmp_path, "1.12.0", 7)
    monkeypatch.setattr(
        importer, "_ProcessGraphDefParam", importer._ProcessGraphDefParam.mox_before
    )
    with tf.Graph().as_default(), pytest.raises(ValueError, match="_output_shapes"):
        tf.train.import_meta_graph(path + ".meta")


@pytest.mark.parametrize("sharded", [False, True])
def test_checkpoints_of_format_1(tmp_path: Path, sharded: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.device("/cpu:0"):
            tf.get_variable("a", initializer=[1.0, 2.0], use_resource=False)
        tf.get_variable("b", initializer=3, use_resource=False)
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver(sharded=sharded, write_version=tf.train.SaverDef.V1)
        path = saver.save(session, str(tmp_path / "old.ckpt"), global_step=5)
    assert not Path(path + ".index").exists()
    latest = tf.train.latest_checkpoint(str(tmp_path))
    assert tf.train.checkpoint_exists(latest)
    reader = tf.train.NewCheckpointReader(latest)
    assert reader.get_variable_to_shape_map() == {"a": [2], "b": []}

    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(latest.split("-?")[0] + ".meta").restore(session, latest)
        assert session.run("a:0").tolist() == [1, 2]
    with tf.Graph().as_default(), tf.Session() as session:
        found = [tf.get_variable(n, s, t) for n, s, t in (("a", [2], None), ("b", [], tf.int32))]
        tf.train.Saver().restore(session, latest)
        assert session.run(found[1]) == 3


def test_a_saved_model_of_its_time(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", initializer=[[2.0], [3.0]], use_resource=False)
        y = tf.matmul(x, w, name="y")
        session.run(tf.global_variables_initializer())
        builder = tf.saved_model.Builder(str(folder))
        signature = tf.saved_model.predict_signature_def({"x": x}, {"y": y})
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": signature}, legacy_init_op=tf.no_op()
        )
        builder.save()
    file = folder / "saved_model.pb"
    saved = _saved(file)
    info = saved.meta_graphs[0].meta_info_def
    info.tensorflow_version, info.stripped_default_attrs = "unknown", False
    file.write_bytes(saved.SerializeToString())

    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.saved_model.load(session, ["serve"], str(folder))
        names = found.signature_def["serving_default"]
        feed = {names.inputs["x"].name: [[1.0, 1.0]]}
        assert session.run(names.outputs["y"].name, feed).tolist() == [[5.0]]


def _saved(file: Path) -> Any:
    from tensorflow.core.protobuf import saved_model_pb2

    return saved_model_pb2.SavedModel.FromString(file.read_bytes())
