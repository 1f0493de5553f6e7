"""Functions that TensorFlow 2 kept by name do what they did in 1.x."""

from __future__ import annotations

import os
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import pytest  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402
from absl import flags as absl_flags  # noqa: E402

from moxing.legacy.face import catalog  # noqa: E402
from moxing.legacy.flags.command_line import CommandLine  # noqa: E402
from moxing.legacy.names import restored  # noqa: E402

PICTURE = b"\xff\xd8\xff\xe0 no text"


def test_a_deconvolution_has_the_static_shape_that_was_asked_for() -> None:
    with tf.Graph().as_default():
        any_batch = tf.placeholder(tf.float32, [None, 4, 4, 8])
        filters = tf.ones([5, 5, 3, 8])
        whole = restored.conv2d_transpose(any_batch, filters, [16, 8, 8, 3], [1, 2, 2, 1])
        assert whole.shape.as_list() == [16, 8, 8, 3]
        batch = tf.stack([tf.shape(any_batch)[0], 8, 8, 3])
        partly = restored.conv2d_transpose(any_batch, filters, batch, strides=[1, 2, 2, 1])
        assert partly.shape.as_list() == [None, 8, 8, 3]
        named = restored.conv2d_transpose(
            input=any_batch, filters=filters, output_shape=[16, 8, 8, 3], strides=2, name="up"
        )
        assert named.op.name == "up"
        assert named.shape.as_list() == [16, 8, 8, 3]


def test_a_resource_variable_takes_a_value_of_another_shape() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        texts = tf.Variable([], dtype=tf.string, use_resource=True)
        more = tf.placeholder(tf.string, [None])
        update = restored.assign(texts, tf.concat([texts, more], 0), validate_shape=False)
        same = restored.assign(tf.Variable([1.0], use_resource=True), [2.0], validate_shape=False)
        with pytest.raises(ValueError, match="shape"):
            restored.assign(texts, ["a"])
        session.run(tf.global_variables_initializer())
        for texts_given in (["a"], ["b", "c"]):
            last = session.run(update, {more: texts_given})
        now = session.run(tf.identity(texts))
        kept = session.run(same)

    assert last.tolist() == now.tolist() == [b"a", b"b", b"c"]
    assert kept == [2.0]


def test_cuda_is_built_in_where_there_is_a_gpu() -> None:
    assert restored.is_built_with_cuda() == bool(tf.config.list_physical_devices("GPU"))


@pytest.mark.parametrize("kind", [restored.GFile, restored.FastGFile])
def test_binary_files_that_are_opened_as_text_are_bytes(kind: type, tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(PICTURE)
    (tmp_path / "text").write_text("größer\nkleiner\n", encoding="utf-8")
    with kind(str(tmp_path / "picture"), "r") as file:
        assert file.read() == PICTURE
    with kind(str(tmp_path / "picture"), "rb") as file:
        assert file.read(2) == PICTURE[:2]
    with kind(str(tmp_path / "text"), "r") as file:
        assert file.read() == "größer\nkleiner\n"
    with kind(str(tmp_path / "text")) as file:
        assert list(file) == ["größer\n", "kleiner\n"]
    with kind(str(tmp_path / "new"), "w") as file:
        file.write("text")
    assert (tmp_path / "new").read_text() == "text"


def test_a_frozen_graph_keeps_the_variables_of_its_old_argument(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        with tf.variable_scope("", use_resource=False):
            weight, bias = tf.get_variable("w", [2]), tf.get_variable("b", [2])
        tf.add(weight, bias, name="out")
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        saved = saver.save(session, str(tmp_path / "model"))
    frozen = restored.freeze_graph_with_def_protos(
        input_graph_def=graph.as_graph_def(),
        input_saver_def=saver.as_saver_def(),
        input_checkpoint=saved,
        output_node_names="out",
        restore_op_name=None,
        filename_tensor_name=None,
        output_graph=str(tmp_path / "frozen.pb"),
        clear_devices=False,
        initializer_nodes="",
        variable_names_blacklist="b",
    )

    kinds = {node.name: node.op for node in frozen.node}
    assert (kinds["w"], kinds["b"]) == ("Const", "VariableV2")


def test_versions_of_the_build_are_texts() -> None:
    info = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues()).load(
        "tensorflow.python.platform.build_info"
    )
    wanted = tf.sysconfig.get_build_info()
    assert info.cuda_version_number == wanted.get("cuda_version", "")
    assert info.cudnn_version_number == wanted.get("cudnn_version", "")
    assert info.build_info == wanted


def test_shapes_of_an_operation_are_there_before_they_are_set() -> None:
    faces = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())
    with tf.Graph().as_default():
        total = tf.ones([2, 3]) + 1.0
        faces.load("tensorflow.python.framework.ops").set_shapes_for_outputs(total.op)

    assert total.shape.as_list() == [2, 3]


def test_a_class_that_stands_for_tensors() -> None:
    faces = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())
    ops = faces.load("tensorflow.python.framework.ops")

    class Stands:
        name = property(lambda self: "x")
        dtype = property(lambda self: tf.float32)

    class Nameless:
        dtype = property(lambda self: tf.float32)

    ops.register_tensor_conversion_function(
        Stands, lambda value, dtype=None, name=None, as_ref=False: tf.constant(3.0)
    )
    ops.register_dense_tensor_like_type(Stands)
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.constant(2.0) * tf.convert_to_tensor(Stands())) == 6
    with pytest.raises(TypeError, match="needs a property 'name'"):
        ops.register_dense_tensor_like_type(Nameless)
