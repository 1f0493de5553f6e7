"""Inputs of operations are changed by the operations' types, in the order of the changes."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph.rewrites import operands


@pytest.fixture(autouse=True)
def no_other_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operands, "_changes", {})


def _doubled(graph: tf.Graph, inputs: Any, attributes: dict[str, Any]) -> Any:
    return [inputs[0] * 2.0, *inputs[1:]]


def _increased(graph: tf.Graph, inputs: Any, attributes: dict[str, Any]) -> Any:
    return [inputs[0] + 1.0, *inputs[1:]]


def _negative() -> float:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.negative(tf.exp(tf.constant(0.0))))


def test_changes_follow_each_other() -> None:
    operands.change(("Neg", "Floor"), _doubled)
    operands.change(("Neg",), _increased)
    assert _negative() == -3.0


def test_a_change_is_made_once_however_often_it_is_asked_for() -> None:
    operands.change(("Neg",), _doubled)
    operands.change(("Neg",), _doubled)
    assert _negative() == -2.0


def test_other_operations_keep_their_inputs() -> None:
    operands.change(("Floor",), _doubled)
    assert _negative() == -1.0


def test_changes_are_told_the_graph_and_the_attributes() -> None:
    told = []

    def keep(graph: tf.Graph, inputs: Any, attributes: dict[str, Any]) -> Any:
        told.append((graph, attributes["data_format"].s))
        return inputs

    operands.change(("MaxPool",), keep)
    with tf.Graph().as_default() as graph:
        tf.nn.max_pool(tf.zeros([1, 2, 4, 4]), 2, 2, "SAME", data_format="NCHW")
    assert told == [(graph, b"NCHW")]
