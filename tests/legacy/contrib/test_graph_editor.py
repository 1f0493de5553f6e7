"""Parts of graphs are found, copied and rewired; the rewired graph computes what it should."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.contrib import graph_editor as ge


def names(ops: Any) -> list[str]:
    return [op.name for op in ops]


def build() -> tuple[Any, Any, Any, Any]:
    x = tf.placeholder_with_default(2.0, [], "x")
    with tf.name_scope("inner"):
        y = tf.multiply(x, x, "square")
        z = tf.add(y, x, "sum")
    w = tf.negative(z, "minus")
    return x, y, z, w


def test_operations_are_found_by_name_scope_and_dependence() -> None:
    with tf.Graph().as_default() as graph:
        x, y, z, w = build()

        assert names(ge.select_ops("inner/s.*", graph=graph)) == ["inner/square", "inner/sum"]
        assert names(ge.get_name_scope_ops(graph, "inner")) == ["inner/square", "inner/sum"]
        assert ge.filter_ts_from_regex([w.op], "sum") == [z]
        assert ge.filter_ts(graph, lambda t: t.op.type == "Mul") == [y]
        assert ge.filter_ts(y.op, True) == ge.filter_ts(y.op) == [x, y]
        assert ge.filter_ops([y, z], True) == [y.op, z.op]
        assert ge.select_ts(y, positive_filter=True) == [y]
        walk = ge.get_backward_walk_ops(w, stop_at_ts=[y], inclusive=False)
        assert set(names(walk)) == {"inner/sum", "x", "x/input"}
        assert set(names(ge.get_forward_walk_ops(y))) == {"inner/sum", "minus"}
        assert set(names(ge.get_walks_intersection_ops(y.op, w.op))) == {
            "inner/square",
            "inner/sum",
            "minus",
        }
        view = ge.sgv("inner/.*", graph=graph)
        assert (view.inputs, view.outputs) == ([x], [z])
        with pytest.raises(ValueError, match="graph"):
            ge.select_ops("inner")


def test_a_copy_with_other_inputs_leaves_the_original_alone() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x, y, z, w = build()
        three = tf.constant(3.0)
        copied, info = ge.copy_with_input_replacements(ge.sgv("inner/.*", graph=graph), {x: three})
        changed = ge.graph_replace([w, y], {x: three})
        also = ge.graph_replace(w, {y: tf.constant(10.0)})

        assert len(copied.ops) == 2
        assert info.transformed(z).op in copied.ops
        assert info.original(info.transformed(z)) is z
        assert list(info._transformed_ops) == [y.op, z.op]
        wanted = [-6.0, 12.0, [-12.0, 9.0], -12.0]
        assert session.run([w, info.transformed(z), changed, also]) == wanted
        with pytest.raises(ValueError, match="not connected"):
            ge.graph_replace(y, {w: three})


def test_loops_functions_and_variables_can_be_replaced() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        weight = tf.Variable(3.0)
        start = tf.constant(1.0)
        grown = tf.while_loop(lambda n, _: n < 3, lambda n, v: (n + 1, v * weight), (0, start))[1]
        other = ge.graph_replace(grown, {start: tf.constant(2.0)})
        session.run(tf.global_variables_initializer())

        assert session.run([grown, other]) == [27.0, 54.0]


def test_consumers_read_something_else() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y, z, w = build()
        five = tf.constant(5.0)
        count = ge.reroute_ts([five], [y], can_modify=[z.op])
        ge.add_control_inputs(w.op, five.op)

        assert count == 1
        assert session.run([y, w]) == [4.0, -7.0]
        assert five.op in w.op.control_inputs
        with pytest.raises(ValueError, match="already a control_input"):
            ge.add_control_inputs(w.op, five.op)
        ge.remove_control_inputs(w.op, five.op)
        assert list(w.op.control_inputs) == []
        with pytest.raises(ValueError, match="is not a control_input"):
            ge.remove_control_inputs(w.op, five.op)


def test_gradients_of_recomputed_activations_are_the_same() -> None:
    # What programs that save memory do: the gradient reads a copy of the forward pass.
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.constant(np.linspace(0.1, 1, 5))
        kept = tf.tanh(x, "kept")
        y = tf.exp(tf.sin(kept, "lost"), "out")
        before = {op.name for op in graph.get_operations()}
        gradient = tf.gradients(y, x)[0]
        backward = [op for op in graph.get_operations() if op.name not in before]
        lost = ge.get_backward_walk_ops(y, stop_at_ts=[kept], inclusive=True)
        cut = tf.stop_gradient(kept)
        _, info = ge.copy_with_input_replacements(ge.sgv(lost), {})
        ge.reroute_ts([cut], [kept], can_modify=list(info._transformed_ops.values()))
        wanted = session.run(gradient)
        moved = [op.outputs[0] for op in lost]
        ge.reroute_ts([info.transformed(t) for t in moved], moved, can_modify=backward)
        session2 = tf.Session()

        np.testing.assert_allclose(session2.run(gradient), wanted, rtol=1e-12)


def test_operations_that_wait_are_found() -> None:
    with tf.Graph().as_default() as graph:
        _, _, _, w = build()
        waiting = ge.ControlOutputs(graph)
        assert waiting.graph is graph
        assert waiting.get(w.op) == []
        with tf.control_dependencies([w]):
            late = tf.no_op("late")
        assert waiting.get(w.op) == [late]
        assert waiting.get_all() == {w.op: [late]}
        ge.remove_control_inputs(late, [w.op])
        assert waiting.update().get(w.op) == []
