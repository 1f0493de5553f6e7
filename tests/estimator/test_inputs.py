"""Input functions over arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError
from moxing.estimator.inputs import numpy_input_fn, pandas_input_fn
from moxing.estimator.modeling.functions import call_input_fn

X = np.arange(14, dtype=np.float32).reshape(7, 2)
Y = np.arange(7)


def batches(input_fn: Any, most: int = 100) -> list[Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        element = input_fn()
        made: list[Any] = []
        while len(made) < most:
            try:
                made.append(session.run(element))
            except tf.errors.OutOfRangeError:
                break
        return made


def test_in_order_and_the_rest_too() -> None:
    made = batches(numpy_input_fn(X, Y, batch_size=3, shuffle=False))
    assert [y.tolist() for _, y in made] == [[0, 1, 2], [3, 4, 5], [6]]
    np.testing.assert_array_equal(np.concatenate([x for x, _ in made]), X)


def test_batches_go_on_over_the_end_of_an_epoch() -> None:
    made = batches(numpy_input_fn({"a": X}, {"b": Y}, batch_size=4, num_epochs=2, shuffle=False))
    assert [y["b"].tolist() for _, y in made] == [[0, 1, 2, 3], [4, 5, 6, 0], [1, 2, 3, 4], [5, 6]]
    assert made[1][0]["a"].tolist() == X[[4, 5, 6, 0]].tolist()


def test_shuffled_without_end() -> None:
    made = batches(numpy_input_fn(X, Y, batch_size=7, num_epochs=None, shuffle=True), most=5)
    orders = [y.tolist() for _, y in made]
    assert len({tuple(order) for order in orders}) > 1
    assert all(sorted(order) == Y.tolist() for order in orders)
    assert all((x == X[y]).all() for x, y in made)


def test_features_alone_and_text() -> None:
    (made,) = batches(numpy_input_fn({"t": np.array(["a", "bc"])}, shuffle=False))
    assert made["t"].tolist() == [b"a", b"bc"]


def test_shapes_are_known() -> None:
    with tf.Graph().as_default():
        x, y = numpy_input_fn(X, Y, shuffle=True)()
    assert (x.shape.as_list(), y.shape.as_list()) == ([None, 2], [None])
    assert (x.dtype, y.dtype) == (tf.float32, tf.int64)


def test_each_thread_makes_its_own_passes() -> None:
    made = batches(numpy_input_fn(X, Y, 7, num_epochs=2, shuffle=False, num_threads=3))
    assert [y.tolist() for _, y in made] == [Y.tolist()] * 6


def test_a_program_unpacks_the_result_and_an_estimator_reads_the_dataset() -> None:
    inside = numpy_input_fn({"a": X}, Y, batch_size=7, shuffle=False)

    def wrapper() -> Any:
        features, labels = inside()
        features["twice"] = features["a"] * 2
        return features, labels

    ((features, labels),) = batches(wrapper)
    np.testing.assert_array_equal(features["twice"], X * 2)
    assert labels.tolist() == Y.tolist()
    with tf.Graph().as_default():
        assert isinstance(call_input_fn(inside, "eval", {}, None), tf.data.Dataset)
        assert isinstance(call_input_fn(wrapper, "eval", {}, None), tuple)


def test_columns_of_a_frame() -> None:
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": [1, 2]})
    (made,) = batches(pandas_input_fn(frame, pd.Series([7, 8]), shuffle=False))
    assert {name: value.tolist() for name, value in made[0].items()} == {
        "a": [1.5, 2.5],
        "b": [1, 2],
    }
    assert made[1].tolist() == [7, 8]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (
            {"x": X, "y": Y},
            MoxValueError,
            "numpy_input_fn has shuffle=None; it must be True (to train) or False (to evaluate).",
        ),
        (
            {"x": X, "y": Y[:3], "shuffle": True},
            MoxValueError,
            "numpy_input_fn needs as many examples in every array (x: 7, y: 3).",
        ),
        ({"x": {}, "shuffle": True}, MoxValueError, "numpy_input_fn has an empty dict as x."),
        (
            {"x": 3, "shuffle": True},
            MoxTypeError,
            "numpy_input_fn has x=3; it must be an array of examples.",
        ),
    ],
)
def test_mistakes(arguments: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        numpy_input_fn(**arguments)
    assert str(caught.value) == message
