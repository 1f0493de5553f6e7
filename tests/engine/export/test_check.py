"""Signatures that could not be served are refused with the output, its cause and the remedy."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine import export
from moxing.engine.export import ExportSignature
from moxing.errors import MoxTypeError, MoxValueError


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def fed(graph: tf.Graph) -> list[Any]:
    del graph
    return export.placeholders([tf.zeros([8, 4]), tf.zeros([8], tf.int64)], True)


def _refused(signature: ExportSignature, fed: Any) -> str:
    with pytest.raises(MoxValueError) as raised:
        export.check(signature, fed)
    return str(raised.value)


def test_outputs_of_named_inputs_pass(fed: list[Any]) -> None:
    images = fed[0]
    kept = tf.placeholder_with_default(1.0, [])
    weights = tf.get_variable("w", [4, 3], use_resource=True)
    with tf.control_dependencies([images]):
        logits = tf.matmul(images, weights) * kept
    export.check(ExportSignature({"images": images}, {"logits": logits, "same": images}), fed)


def test_any_tensor_between_can_be_an_input(fed: list[Any]) -> None:
    hidden = fed[0] * 2.0
    export.check(ExportSignature({"hidden": hidden}, {"y": hidden + 1.0}), fed)


def test_an_unnamed_input_of_model_fn(fed: list[Any]) -> None:
    loss = tf.reduce_sum(fed[0]) + tf.cast(tf.reduce_sum(fed[1]), tf.float32)
    assert _refused(ExportSignature({"images": fed[0]}, {"y": fed[0] * 2, "loss": loss}), fed) == (
        "The exported output 'loss' depends on inputs[1] of model_fn, which is not in inputs_dict."
        " Add it to inputs_dict, or make the output without it in EXPORT mode."
    )


def test_an_unnamed_input_of_a_dict() -> None:
    fed = export.placeholders({"image": tf.zeros([8, 4]), "label": tf.zeros([8])}, True)
    signature = ExportSignature({"image": fed["image"]}, {"y": fed["label"] + 1})
    assert "depends on inputs['label'] of model_fn, which" in _refused(signature, fed)


def test_waiting_for_an_input_counts(fed: list[Any]) -> None:
    with tf.control_dependencies([fed[1]]):
        output = tf.identity(fed[0])
    assert "depends on inputs[1] of model_fn" in _refused(
        ExportSignature({"images": fed[0]}, {"y": output}), fed
    )


def test_half_a_sparse_input_is_not_enough() -> None:
    fed = export.placeholders([tf.SparseTensor([[0, 1]], [1.0], [4, 9])], True)
    total = tf.sparse.reduce_sum(fed[0])
    export.check(ExportSignature({"words": fed[0]}, {"sum": total}), fed)
    assert "depends on inputs[0] of model_fn" in _refused(
        ExportSignature({"values": fed[0].values}, {"sum": total}), fed
    )


def test_a_placeholder_of_the_users_own(fed: list[Any]) -> None:
    keep = tf.placeholder(tf.float32, [], name="keep_prob")
    line = keep.op.traceback[-1] if keep.op.traceback else None
    assert line is not None
    message = _refused(ExportSignature({"images": fed[0]}, {"y": fed[0] * keep}), fed)
    assert message.startswith(
        "The exported output 'y' depends on placeholder 'keep_prob' (test_check.py:"
    )
    assert message.endswith(
        "), which is not in inputs_dict. Add it to inputs_dict, or make the output without it in"
        " EXPORT mode."
    )


def _from_iterator() -> tf.Tensor:
    return tf.data.make_one_shot_iterator(tf.data.Dataset.range(3)).get_next()


def _from_queue() -> tf.Tensor:
    return tf.train.batch([tf.constant(1.0)], 2)


def _from_reader() -> tf.Tensor:
    return tf.TFRecordReader().read(tf.train.string_input_producer(["a"]))[1]


@pytest.mark.parametrize("make", [_from_iterator, _from_queue, _from_reader])
def test_input_pipelines(fed: list[Any], make: Callable[[], tf.Tensor]) -> None:
    message = _refused(ExportSignature({"x": fed[0]}, {"y": tf.identity(make())}), fed)
    assert message.startswith("The exported output 'y' depends on the input pipeline '")
    assert message.endswith(
        "), which is not exported. Make the output of the inputs that model_fn is given."
    )
    assert "(test_check.py:" in message


def test_a_while_loop_of_either_kind_passes(fed: list[Any]) -> None:
    loop = tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, x * 2.0), (0, fed[0]))[1]
    export.check(ExportSignature({"x": fed[0]}, {"y": loop}), fed)


def test_python_functions_are_pointed_out(fed: list[Any], caplog: pytest.LogCaptureFixture) -> None:
    output = tf.numpy_function(lambda x: x, [fed[0]], tf.float32, name="mine")
    with caplog.at_level(logging.WARNING, "tensorflow"):
        export.check(ExportSignature({"x": fed[0]}, {"y": output}), fed)
    (message,) = caplog.messages
    assert message.startswith(
        "The exported output 'y' depends on the Python function called by 'mine' (test_check.py:"
    )


def test_empty_and_foreign_signatures(fed: list[Any]) -> None:
    images = fed[0]
    assert _refused(ExportSignature({}, {"y": images}), fed) == (
        "The export's inputs_dict is empty. Name at least one tensor."
    )
    assert _refused(ExportSignature({"x": images}, {}), fed) == (
        "The export's outputs_dict is empty. Name at least one tensor."
    )
    assert "can't be fed" not in _refused(ExportSignature({"a": images, "b": images}, {}), fed)
    with tf.Graph().as_default():
        other = tf.zeros([1])
    assert _refused(ExportSignature({"x": images}, {"y": other}), fed) == (
        "The export's outputs_dict['y'] is a tensor of another graph. Each call of model_fn must"
        " build its own tensors: don't keep them from an earlier call."
    )


def test_inputs_that_a_session_cannot_feed(graph: tf.Graph, fed: list[Any]) -> None:
    images = fed[0]
    assert _refused(ExportSignature({"a": images, "b": images}, {"y": images}), fed) == (
        "The export's inputs_dict has one tensor under two names, 'a' and 'b'. Keep one of them."
    )
    fixed = tf.zeros([1])
    graph.prevent_feeding(fixed)
    assert _refused(ExportSignature({"a": fixed}, {"y": images}), fed) == (
        "The export's inputs_dict['a'] can't be fed. Use an input of model_fn."
    )


@pytest.mark.parametrize("key", [3, "", b"x", None])
def test_keys_must_be_strings(fed: list[Any], key: Any) -> None:
    with pytest.raises(MoxTypeError) as raised:
        export.check(ExportSignature({"x": fed[0]}, {key: fed[0]}), fed)
    assert str(raised.value) == (
        f"The export's outputs_dict has the key {key!r}. A key is the name that clients use:"
        " a string."
    )


def test_values_must_be_tensors(fed: list[Any]) -> None:
    variable = tf.get_variable("v", [], use_resource=True)
    for value, name in ((variable, "ResourceVariable"), (3.0, "float"), (None, "NoneType")):
        with pytest.raises(MoxTypeError) as raised:
            export.check(ExportSignature({"x": fed[0]}, {"y": value}), fed)
        assert str(raised.value) == (
            f"The export's outputs_dict['y'] is a {name}, and only a tf.Tensor or tf.SparseTensor"
            " can be exported. tf.identity(...) makes a tensor of a variable."
        )


def test_a_missing_vocabulary(fed: list[Any]) -> None:
    words = tf.constant("/nowhere/words.txt")
    tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, words)
    assert _refused(ExportSignature({"x": fed[0]}, {"y": fed[0]}), fed) == (
        "The exported model needs the file '/nowhere/words.txt', which does not exist. It is copied"
        " beside the model when the model is exported."
    )
