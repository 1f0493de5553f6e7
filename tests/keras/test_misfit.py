"""Data that does not fit the model: one sentence says what both are, and what to do."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from models import BATCH, FAMILIES, X, Y, dense, eagerly

import moxing.keras
from moxing.errors import MoxTypeError, MoxValueError

TAKES = "the model takes float32 (None, 8) and gives (None, 3)"
LOSS = "with the loss sparse_categorical_crossentropy"
OTHER = X[:, :4]
RAGGED = tf.ragged.constant([[1, 2], [3]] * 64, dtype=tf.int64)
SPARSE = tf.sparse.from_dense(X * (X > 0.5))
WORDS = np.array(["a", "b"] * 65)


def sliced(*parts: Any) -> Any:
    return tf.data.Dataset.from_tensor_slices(parts).batch(BATCH)


def message(model: Any, train_data: Any, eval_data: Any = None, **more: Any) -> str:
    """What `fit` refuses with."""
    with pytest.raises((MoxValueError, MoxTypeError)) as caught:
        moxing.keras.fit(model, train_data, eval_data, steps=1, **more)
    return str(caught.value)


@pytest.mark.parametrize("package", FAMILIES)
@pytest.mark.parametrize(
    ("data", "has", "advice"),
    [
        (
            X,
            "x: float32 (32, 8)",
            "The loss compares with labels, and there are none: give (x, y).",
        ),
        (
            ({"a": X}, Y),
            "x: {'a': float32 (32, 8)}, y: int64 (32,)",
            "The model has one input: pass its x alone, not in a dict.",
        ),
        (
            (X[:, :5], Y),
            "x: float32 (32, 5), y: int64 (32,)",
            "Bring x into the shape (batch, 8).",
        ),
        (
            (X, np.eye(3)[Y]),
            "x: float32 (32, 8), y: float32 (32, 3)",
            "The loss takes the number of a class for each sample: give y the shape (batch,), as"
            " with y.argmax(-1) of one-hot labels, or use categorical_crossentropy for these.",
        ),
        (
            (X, WORDS),
            "x: float32 (None, 8), y: string (None,)",
            "y has strings and the loss takes numbers: number the classes, as with"
            " numpy.unique(y, return_inverse=True)[1].",
        ),
        (
            (WORDS[:, None].repeat(8, 1), Y),
            "x: string (None, 8), y: int64 (None,)",
            "x has strings and the model takes numbers: turn them into numbers before fit, as with"
            " a StringLookup layer in Dataset.map.",
        ),
        (
            (X, Y, np.ones((130, 2), np.float32)),
            "x: float32 (32, 8), y: int64 (32,), sample_weight: float32 (32, 2)",
            "sample_weight must be one number for each sample: of the shape (batch,).",
        ),
    ],
    ids=["no labels", "dict", "shape", "one-hot", "named classes", "words", "weights"],
)
def test_what_was_given_what_is_taken_and_what_to_do(
    package: str, data: Any, has: str, advice: str
) -> None:
    parts = data if isinstance(data, tuple) else (data,)
    even = tuple(tf.nest.map_structure(lambda array: array[:128], part) for part in parts)
    told = message(dense(package), even, batch_size=BATCH)
    expected = f"train_data does not fit the model: it has {has}; {TAKES}, {LOSS}. {advice}"
    assert told.split(" Keras says: ")[0] == expected


@pytest.mark.parametrize("package", FAMILIES)
def test_labels_beyond_the_classes(package: str) -> None:
    told = message(dense(package), (X, Y + 1))
    assert told == (
        "train_data has the label 3, and the model tells 3 classes apart: labels must be whole"
        " numbers from 0 to 2. Number the classes from 0 on, or give the last layer as many units"
        " as there are classes."
    )


@pytest.mark.parametrize("package", FAMILIES)
def test_classes_by_number_where_the_loss_takes_one_hot(package: str) -> None:
    model = dense(package)
    model.compile("sgd", "categorical_crossentropy")
    assert "use sparse_categorical_crossentropy for numbers of classes" in message(model, (X, Y))


def two_inputs(package: str) -> Any:
    keras: Any = importlib.import_module(package)
    keras.utils.set_random_seed(0)
    a, b = keras.layers.Input((8,), name="a"), keras.layers.Input((4,), name="b")
    joined = keras.layers.Concatenate()([a, b])
    model = keras.Model([a, b], keras.layers.Dense(3, activation="softmax")(joined))
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


@pytest.mark.parametrize("package", FAMILIES)
def test_several_inputs_by_name_and_in_order(package: str) -> None:
    theirs = two_inputs(package)
    eagerly(theirs).fit([X, OTHER], Y, batch_size=BATCH, shuffle=False, verbose=0)
    for x in ([X, OTHER], {"a": X, "b": OTHER}):
        ours = two_inputs(package)
        moxing.keras.fit(ours, (x, Y), batch_size=BATCH, shuffle=False)
        np.testing.assert_allclose(ours.get_weights()[0], theirs.get_weights()[0], rtol=1e-5)

    takes = "the model takes a: float32 (None, 8), b: float32 (None, 4) and gives (None, 3)"
    wrong = message(two_inputs(package), ({"a": X, "c": OTHER}, Y))
    assert takes in wrong
    assert "Name the parts of x as the model's inputs are named: {'a': ..., 'b': ...}." in wrong
    order = message(two_inputs(package), ([OTHER, X], Y))
    assert "Bring x['a'] into the shape (batch, 8), in the order of the model's inputs." in order
    assert "The model has 2 inputs and x has 1 parts" in message(two_inputs(package), (X, Y))


@pytest.mark.parametrize("package", FAMILIES)
def test_several_outputs_by_name(package: str) -> None:
    keras: Any = importlib.import_module(package)
    a = keras.layers.Input((8,))
    outputs = {"p": keras.layers.Dense(3, name="p")(a), "q": keras.layers.Dense(1, name="q")(a)}
    model = keras.Model(a, outputs)
    model.compile("sgd", {"p": "mse", "q": "mse"})
    told = message(model, (X, {"p": X[:, :3], "r": X[:, :1]}))
    assert "and gives p (None, 3), q (None, 1). Give a y for each output, by its name:" in told


def embedding(package: str) -> Any:
    """The mean of learned vectors of words, of any number of words."""
    keras: Any = importlib.import_module(package)
    keras.utils.set_random_seed(0)
    layers = keras.layers
    of_tf_keras = {"ragged": True} if package == "tf_keras" else {}
    words = layers.Input((None,), dtype="int64", **of_tf_keras)
    mean = layers.GlobalAveragePooling1D()(layers.Embedding(10, 4)(words))
    model = keras.Model(words, layers.Dense(3, activation="softmax")(mean))
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def of_sparse(package: str) -> Any:
    keras: Any = importlib.import_module(package)
    keras.utils.set_random_seed(0)
    taken = keras.layers.Input((8,), sparse=True)
    model = keras.Model(taken, keras.layers.Dense(3, activation="softmax")(taken))
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


@pytest.mark.parametrize("package", FAMILIES)
@pytest.mark.parametrize(
    ("make", "x"), [(embedding, RAGGED), (of_sparse, SPARSE)], ids=["ragged", "sparse"]
)
def test_ragged_and_sparse_tensors_of_a_dataset(
    package: str, make: Callable[[str], Any], x: Any, caplog: pytest.LogCaptureFixture
) -> None:
    count = int(x.shape[0])
    theirs, ours = make(package), make(package)
    eagerly(theirs).fit(sliced(x, Y[:count]), verbose=0)
    with caplog.at_level("INFO", "tensorflow"):
        result = moxing.keras.fit(ours, sliced(x, Y[:count]), log_every=1)
    for a, b in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    summary = caplog.records[-1].getMessage()
    # Samples are counted, not numbers: 32 in a batch, at most.
    rate = float(summary.split("s: ")[1].split(" samples/s")[0].replace(",", ""))
    assert rate * result.seconds == pytest.approx(count, rel=0.2)


def test_ragged_tensors_where_the_model_takes_dense_ones() -> None:
    told = message(dense("keras"), sliced(tf.cast(RAGGED, tf.float32), Y[:128]))
    assert "it has x: ragged float32 (None, None), y: int64 (None,);" in told
    assert "Make x dense: with to_tensor() of a ragged tensor, or tf.sparse.to_dense." in told


def test_what_is_no_array_says_how_to_make_one() -> None:
    refusals = {
        "train_data holds a ragged tensor (int64 (128, None)), which only a Dataset may hold: pass"
        " tf.data.Dataset.from_tensor_slices((x, y)).batch(32).": (RAGGED, Y[:128]),
        "train_data holds an array of Python objects, of shape (130,); an array of numbers or"
        " strings is needed. Convert it: array.astype(...).": (X, Y.astype(object)),
        "train_data has None before other arrays; it must be arrays (x, y) or (x, y,"
        " sample_weight), a tf.data.Dataset of them, a keras.utils.Sequence or generator of such"
        " batches, or a function that returns one of these.": (X, None, Y),
    }
    for expected, data in refusals.items():
        assert message(dense("keras"), data) == expected
    uneven = message(dense("keras"), ([[1.0], [2.0, 3.0]], Y[:2]))
    assert uneven.startswith("train_data holds lists of different lengths ([[1.0], [2.0, 3.0]]).")


def test_lists_of_numbers_are_arrays() -> None:
    ours, theirs = dense("keras"), dense("keras")
    moxing.keras.fit(ours, (X.tolist(), Y.tolist()), shuffle=False)
    moxing.keras.fit(theirs, (X, Y), shuffle=False)
    np.testing.assert_array_equal(ours.get_weights()[0], theirs.get_weights()[0])


@pytest.mark.parametrize("package", FAMILIES)
def test_evaluation_data_is_looked_at_before_training(package: str) -> None:
    model = dense(package)
    before = model.get_weights()[0].copy()
    told = message(model, (X, Y), (X[:, :5], Y))
    assert told.startswith(
        f"eval_data does not fit the model: it has x: float32 (None, 5), y: int64 (None,); {TAKES},"
    )
    np.testing.assert_array_equal(model.get_weights()[0], before)
    assert "eval_data has the label 9" in message(model, (X, Y), (X, np.full_like(Y, 9)))
    single = tf.data.Dataset.from_tensor_slices((X, Y))
    assert "eval_data has elements of shape (8,)" in message(model, sliced(X, Y), single)


@pytest.mark.parametrize("package", FAMILIES)
def test_images_of_a_size_that_is_not_known(package: str) -> None:
    """A size of 1 in its place would be less than a filter's."""
    keras: Any = importlib.import_module(package)
    layers = keras.layers
    model = keras.Sequential(
        [layers.Conv2D(2, 3), layers.GlobalAveragePooling2D(), layers.Dense(3)]
    )
    model.compile("sgd", "mse")
    images = np.random.RandomState(0).rand(8, 6, 7, 1).astype(np.float32)
    data = sliced(images, np.zeros((8, 3), np.float32))

    def hide(x: Any, y: Any) -> Any:
        hidden = tf.numpy_function(lambda value: value, [x], tf.float32)
        return tf.ensure_shape(hidden, [None, None, None, 1]), y

    assert moxing.keras.fit(model, data.map(hide)).steps == 1
    assert model.layers[0].get_weights()[0].shape == (3, 3, 1, 2)

    unknown = data.map(lambda x, y: (tf.numpy_function(lambda v: v, [x], tf.float32), y))
    told = message(model, unknown)
    assert "x: float32 of unknown rank" in told
    assert "Say how many dimensions it has: tf.ensure_shape(x, [None, ...])" in told


@pytest.mark.parametrize("package", FAMILIES)
def test_an_error_in_code_of_the_user_stays_and_gets_the_description(package: str) -> None:
    keras: Any = importlib.import_module(package)

    class Mine(keras.Model):
        def call(self, x: Any) -> Any:
            raise ValueError("mine")

    model = Mine()
    model.compile("sgd", "mse")
    with pytest.raises((ValueError, RuntimeError), match="mine") as caught:
        moxing.keras.fit(model, (X, Y), steps=1)
    notes = "\n".join(caught.value.__notes__)
    assert "openmox: train_data does not fit the model: it has x: float32" in notes
    assert "the model, a Mine, does not say what it takes" in notes
    assert "raised while calling the model's train_step (" in notes
