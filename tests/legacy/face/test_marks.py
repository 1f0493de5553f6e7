"""The mark on operations that are named in control dependencies, which makes TensorFlow warn."""

from __future__ import annotations

import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.face import marks

MARK = "_has_manual_control_dependencies"


def attributes_of_named() -> set[str]:
    with tf.Graph().as_default():
        first = tf.constant(1.0)
        first.op._set_attr("_own", tf.AttrValue(b=True))
        with tf.control_dependencies([first]):
            after = tf.no_op()
        assert after.control_inputs == [first.op]
        return set(first.op.node_def.attr)


def test_it_is_left_out_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    assert attributes_of_named() >= {MARK, "_own"}
    monkeypatch.setattr(tf.Operation, "_set_attr", tf.Operation._set_attr)

    marks.leave_out()
    once = tf.Operation._set_attr
    marks.leave_out()

    assert tf.Operation._set_attr is once
    assert MARK not in attributes_of_named()
    assert "_own" in attributes_of_named()
