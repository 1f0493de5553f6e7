"""Whatever an input_fn may return becomes a list or dict of tensors, or a clear error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph import structure
from moxing.errors import MoxTypeError, MoxValueError


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as built:
        yield built


def test_one_tensor_becomes_a_list_of_one() -> None:
    tensor = tf.constant(1)
    assert structure.normalize(tensor) == [tensor]


def test_tuples_become_lists_at_every_depth_and_dicts_stay() -> None:
    a, b, c = tf.constant(1), tf.constant(2), tf.constant(3)
    assert structure.normalize((a, {"b": (b, c)})) == [a, {"b": [b, c]}]
    assert structure.normalize({"a": a}) == {"a": a}


def test_a_variable_is_read() -> None:
    variable = tf.get_variable("v", initializer=1.0)
    (tensor,) = structure.normalize([variable])
    assert isinstance(tensor, tf.Tensor)


def test_replace_keeps_structure_and_order() -> None:
    a, b, c = tf.constant(1), tf.constant(2), tf.constant(3)
    assert structure.replace([a, {"x": b}], [c, a]) == [c, {"x": a}]


def test_describe_names_every_leaf() -> None:
    inputs = {"image": tf.zeros([2, 3]), "rest": [tf.placeholder(tf.int64, [None])]}
    expected = "inputs['image']: float32 [2, 3], inputs['rest'][0]: int64 [?]"
    assert structure.describe(inputs) == expected
    assert structure.describe_shape(tf.TensorShape(None)) == "of unknown rank"


@pytest.mark.parametrize(
    ("result", "start"),
    [
        (None, "input_fn returned None. It must return a tf.Tensor"),
        (np.zeros(3), "input_fn's result is a numpy.ndarray, not a tensor."),
        ([1.5], "input_fn's result[0] is a builtins.float, not a tensor."),
        ({"x": "text"}, "input_fn's result['x'] is a builtins.str, not a tensor."),
        ([[None]], "input_fn's result[0][0] is a builtins.NoneType, not a tensor."),
    ],
)
def test_what_is_no_tensor_is_named(result: Any, start: str) -> None:
    with pytest.raises(MoxTypeError) as caught:
        structure.normalize(result)
    assert str(caught.value).startswith(start)
    assert "return" in str(caught.value)


@pytest.mark.parametrize("empty", [[], (), {}])
def test_nothing_is_refused(empty: Any) -> None:
    with pytest.raises(MoxValueError, match="input_fn returned no tensors"):
        structure.normalize(empty)


def test_a_tensor_of_another_graph_is_refused() -> None:
    with tf.Graph().as_default():
        foreign = tf.constant(1)
    with pytest.raises(MoxValueError, match="was made outside of input_fn, in another graph"):
        structure.normalize(foreign)


def test_labels_are_told_by_the_form_of_the_inputs() -> None:
    with tf.Graph().as_default():
        x, y, n = tf.zeros([4, 3]), tf.zeros([4, 1]), tf.zeros([4])
        assert structure.labels([x]) == set()
        assert structure.labels([x, x]) == {1}
        assert structure.labels([x, x, y, n]) == {2, 3}
        assert structure.labels([{"a": x, "label": x}, {"b": x}]) == {2}
        assert structure.labels({"image": x, "true_label": y, "Target": n, "y": x}) == {1, 2, 3}
