"""Variables that an export needs are compared with those that training makes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine import export
from moxing.engine.export import ExportSignature
from moxing.errors import MoxValueError


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def _weights(name: str, *, resource: bool = True) -> tf.Variable:
    return tf.get_variable(name, [3], use_resource=resource)


@pytest.mark.parametrize("resource", [True, False])
def test_only_what_the_outputs_need_must_be_there(resource: bool) -> None:
    x = tf.placeholder(tf.float32, [3])
    used, unused = _weights("used", resource=resource), _weights("unused", resource=resource)
    hidden = x * _weights("before", resource=resource)
    signature = ExportSignature({"x": hidden}, {"y": hidden * used})
    export.check_variables(signature, {"used"}, "the training graph")
    with pytest.raises(MoxValueError) as raised:
        export.check_variables(signature, {"unused", "use"}, "the training graph")
    assert str(raised.value) == (
        "The exported model needs variables that the training graph does not have: 'used'. model_fn"
        " must make the same variables, under the same names, in EXPORT mode as in TRAIN mode."
        " Did you mean 'use' or 'unused'?"
    )
    assert unused.op.name == "unused"


def test_a_long_list_is_cut() -> None:
    x = tf.placeholder(tf.float32, [3])
    y = tf.add_n([x, *(tf.identity(_weights(f"v{i}")) for i in range(7))])
    with pytest.raises(MoxValueError, match="'v0', 'v1', 'v2', 'v3', 'v4' and 2 more. model_fn"):
        export.check_variables(ExportSignature({"x": x}, {"y": y}), (), "x")


def test_checkpoint_names_are_those_of_a_saver(tmp_path: Path) -> None:
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
        _weights("parts")
    _weights("plain")
    _weights("old", resource=False)
    tf.get_variable("metric", [], collections=[tf.GraphKeys.LOCAL_VARIABLES])
    tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.int64, -1, empty_key=-1, deleted_key=-2, name="seen"
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, f"{tmp_path}/model.ckpt")
    stored = {name for name, _ in tf.train.list_variables(prefix)}
    assert export.checkpoint_names(tf.get_default_graph()) == stored
    assert stored == {"s/parts", "plain", "old", "seen-keys", "seen-values"}
