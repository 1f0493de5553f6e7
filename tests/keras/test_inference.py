"""`moxing.keras.evaluate` and `predict` give what Keras' own methods give, on any devices."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from models import BATCH, CHANCE, FAMILIES, X, Y, dense

import moxing.keras
from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError

WEIGHTS = CHANCE.rand(len(X)).astype(np.float32)


def keras_of(package: str) -> Any:
    return importlib.import_module(package)


def of_keras(model: Any, *data: Any, **arguments: Any) -> dict[str, float]:
    return dict(model.evaluate(*data, return_dict=True, verbose=0, **arguments))


def assert_close(left: dict[str, float], right: dict[str, float]) -> None:
    assert sorted(left) == sorted(right)
    for name in left:
        np.testing.assert_allclose(left[name], right[name], rtol=1e-5, err_msg=name)


@pytest.mark.parametrize(("package", "devices"), [("keras", 1), ("keras", 3), ("tf_keras", 2)])
def test_evaluate_is_keras_own(package: str, devices: int) -> None:
    """130 samples in batches of 32: the last batch has 2, and the last of 3 devices has none."""
    keras = keras_of(package)
    metrics = ["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(2, name="top")]
    model = dense(package, "adam", "norm", metrics=metrics, weighted_metrics=["accuracy"])
    expected = of_keras(model, X, Y, sample_weight=WEIGHTS, batch_size=BATCH)
    before = [np.array(weight) for weight in model.get_weights()]
    found = moxing.keras.evaluate(
        model, X, Y, BATCH, sample_weight=WEIGHTS, num_gpus=devices, verbose=0
    )
    assert_close(found, expected)
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    # Metrics start anew at each call, and leave Keras' own evaluation as it was.
    again = moxing.keras.evaluate(model, (X, Y, WEIGHTS), batch_size=BATCH, num_gpus=devices)
    assert_close(again, expected)
    assert_close(of_keras(model, X, Y, sample_weight=WEIGHTS, batch_size=BATCH), expected)


def test_evaluate_and_predict_take_every_form_of_data() -> None:
    keras = keras_of("keras")
    model = dense("keras")
    batches = [(X[n : n + BATCH], Y[n : n + BATCH]) for n in range(0, len(X), BATCH)]

    class Batches(keras.utils.PyDataset):
        def __len__(self) -> int:
            return len(batches)

        def __getitem__(self, index: int) -> Any:
            return batches[index]

    def generator() -> Iterator[Any]:
        while True:
            yield from batches

    whole = of_keras(model, X, Y)
    rows = model.predict(X, verbose=0)
    samples = tf.data.Dataset.from_tensor_slices((X, Y))
    forms: list[tuple[Any, dict[str, Any]]] = [
        (samples.batch(BATCH), {}),
        (samples, {"batch_size": BATCH}),
        (lambda: samples.batch(BATCH), {}),
        (Batches(), {}),
        (generator(), {"steps": len(batches)}),
    ]
    for data, arguments in forms:
        assert_close(moxing.keras.evaluate(model, data, num_gpus=2, **arguments), whole)
    for data, arguments in forms[:-1]:
        found = moxing.keras.predict(model, data, num_gpus=2, **arguments)
        np.testing.assert_allclose(found, rows, rtol=1e-5, atol=1e-6)
    part = of_keras(model, X[: 2 * BATCH], Y[: 2 * BATCH])
    assert_close(moxing.keras.evaluate(model, samples.repeat().batch(BATCH), steps=2), part)
    assert moxing.keras.predict(model, X, steps=3, num_gpus=2).shape == (3 * 32, 3)


@pytest.mark.parametrize(("package", "devices"), [("keras", 2), ("tf_keras", 1)])
def test_several_inputs_and_outputs(package: str, devices: int) -> None:
    keras = keras_of(package)
    keras.utils.set_random_seed(0)
    one, two = keras.layers.Input((8,), name="one"), keras.layers.Input((8,), name="two")
    joined = keras.layers.Concatenate()([one, two])
    outputs = [keras.layers.Dense(3, name="kind")(joined), keras.layers.Dense(1, name="size")(two)]
    model = keras.Model([one, two], outputs)
    expected = model.predict([X, X[:, ::-1]], verbose=0)  # Not compiled.
    found = moxing.keras.predict(model, [X, X[:, ::-1]], num_gpus=devices)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    found = moxing.keras.predict(model, {"one": X, "two": X[:, ::-1]}, 7, num_gpus=devices)
    np.testing.assert_allclose(expected[0], found[0], rtol=1e-5, atol=1e-6)
    model.compile("sgd", ["mse", "mae"])
    labels = [np.eye(3, dtype=np.float32)[Y], X[:, :1]]
    expected = of_keras(model, [X, X], labels)
    assert_close(moxing.keras.evaluate(model, [X, X], labels, num_gpus=devices), expected)


def test_a_lookup_and_an_unbuilt_model_work_on_two_devices() -> None:
    keras = keras_of("tf_keras")
    words = np.array(["a", "b", "c", "d", "e"] * 3)
    lookup = keras.layers.StringLookup(vocabulary=["a", "b", "c"])
    model = keras.Sequential([lookup, keras.layers.Embedding(5, 2)])
    found = moxing.keras.predict(model, words, 4, num_gpus=2)
    np.testing.assert_allclose(found, model.predict(words, verbose=0))
    model.compile("sgd", "mse")
    labels = np.ones((15, 2), np.float32)
    expected = of_keras(model, words, labels, batch_size=4)
    assert_close(moxing.keras.evaluate(model, words, labels, 4, num_gpus=2), expected)


@pytest.mark.parametrize("package", FAMILIES)
def test_a_stateful_model_has_one_device(package: str) -> None:
    keras = keras_of(package)
    layers = keras.layers
    given = layers.Input(batch_shape=(4, 3, 2))
    model = keras.Sequential([given, layers.LSTM(5, stateful=True)])
    x = CHANCE.rand(16, 3, 2).astype(np.float32)
    expected = model.predict(x, batch_size=4, verbose=0)
    after = model.predict(x, batch_size=4, verbose=0)
    for layer in model.layers:
        layer.reset_states() if hasattr(layer, "reset_states") else layer.reset_state()
    np.testing.assert_allclose(moxing.keras.predict(model, x, 4), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(moxing.keras.predict(model, x, 4), after, rtol=1e-5, atol=1e-6)
    with pytest.raises(MoxNotSupportedError, match=r"keeps state from batch to batch"):
        moxing.keras.predict(model, x, 4, num_gpus=2)


def test_misuse_is_told() -> None:
    model = dense("keras")
    with pytest.raises(MoxTypeError, match=r"predict has x=None"):
        moxing.keras.predict(model, None)
    with pytest.raises(MoxValueError, match=r"evaluate has steps=0; it must be at least 1"):
        moxing.keras.evaluate(model, X, Y, steps=0)
    with pytest.raises(MoxTypeError, match=r"evaluate has y= or sample_weight= beside x"):
        moxing.keras.evaluate(model, (X, Y), Y)
    with pytest.raises(MoxTypeError, match=r"predict has model=3"):
        moxing.keras.predict(3, X)
    with pytest.raises(MoxValueError, match=r"x does not fit the model: it has x: float32 \(None"):
        moxing.keras.predict(model, X[:, :5])
    with pytest.raises(MoxValueError, match=r"x has the label 3, and the model tells 3 classes"):
        moxing.keras.evaluate(model, X, np.full(len(X), 3))
    endless = tf.data.Dataset.from_tensors((X, Y)).repeat()
    with pytest.raises(MoxValueError, match=r"The dataset of x has no end.*Pass steps=, or leave"):
        moxing.keras.evaluate(model, endless)
    nothing = tf.data.Dataset.from_tensors((X, Y)).filter(lambda *_: False)
    with pytest.raises(MoxValueError, match=r"x gave no data: it ended before"):
        moxing.keras.evaluate(model, nothing)
    with pytest.raises(MoxValueError, match=r"x gave no data: it ended before"):
        moxing.keras.predict(model, nothing, num_gpus=2)
    keras = keras_of("keras")
    bare = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(3)])
    with pytest.raises(MoxValueError, match=r"The model is not compiled"):
        moxing.keras.evaluate(bare, X, Y)
