"""`moxing.keras.fit` gives the weights that Keras' own `fit` gives."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from models import BATCH, FAMILIES, X, Y, assert_equal, assert_histories, dense, eagerly, values

import moxing.keras


def both(
    make: Any, data: Any, epochs: int = 2, validated: bool = True, eager: bool = True
) -> tuple[Any, Any]:
    """A model that Keras trained, eagerly or not, and one that we did, on the same batches."""
    theirs, ours = make(), make()
    if eager:
        eagerly(theirs)
    held = data if validated else None
    expected = theirs.fit(
        *data, batch_size=BATCH, epochs=epochs, shuffle=False, verbose=0, validation_data=held
    )
    result = moxing.keras.fit(ours, data, held, batch_size=BATCH, epochs=epochs, shuffle=False)
    assert_histories(result.history, expected.history)
    assert result.epoch == expected.epoch
    return theirs, ours


@pytest.mark.parametrize("package", FAMILIES)
@pytest.mark.parametrize(
    "optimizer",
    ["sgd", ("SGD", {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True}), "adam"],
    ids=str,
)
def test_dense_with_batch_norm(package: str, optimizer: Any) -> None:
    eager = optimizer != "adam"
    assert_equal(*both(lambda: dense(package, optimizer, "norm"), (X, Y), eager=eager))


@pytest.mark.parametrize("package", FAMILIES)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("AdamW", {"weight_decay": 0.01, "clipnorm": 0.5}),
        ("RMSprop", {"use_ema": True, "ema_momentum": 0.9}),
        ("Adam", {"global_clipnorm": 0.1, "amsgrad": True}),
        ("Lion", {}),
    ],
)
def test_optimizers_as_they_are(package: str, name: str, arguments: dict[str, Any]) -> None:
    assert_equal(*both(lambda: dense(package, (name, arguments)), (X, Y), validated=False))


@pytest.mark.parametrize("package", FAMILIES)
def test_learning_rate_schedule_follows_the_updates(package: str) -> None:
    keras = importlib.import_module(package)

    def make() -> Any:
        rate = keras.optimizers.schedules.ExponentialDecay(0.1, 3, 0.5)
        return dense(package, ("SGD", {"learning_rate": rate}))

    theirs, ours = both(make, (X, Y), validated=False)
    assert_equal(theirs, ours)
    assert int(ours.optimizer.iterations.numpy()) == 10


@pytest.mark.parametrize("package", FAMILIES)
def test_the_learning_rate_of_a_callback_is_in_the_history(package: str) -> None:
    keras = importlib.import_module(package)
    histories = []
    for fit in (lambda m, **k: m.fit(X, Y, verbose=0, **k), moxing.keras.fit):
        model = dense(package, ("SGD", {"learning_rate": 0.1}))
        halve = keras.callbacks.LearningRateScheduler(lambda epoch, rate: float(rate) / 2)
        data = (model, (X, Y)) if fit is moxing.keras.fit else (model,)
        found = fit(*data, batch_size=BATCH, epochs=2, shuffle=False, callbacks=[halve])
        histories.append(found.history)
    assert_histories(histories[1], histories[0])
    rates = histories[1].get("learning_rate", histories[1].get("lr"))
    np.testing.assert_allclose(rates, [0.05, 0.025], rtol=1e-6)


def test_dropout_draws_what_keras_draws() -> None:
    assert_equal(*both(lambda: dense("keras", "adam", "drop"), (X, Y)))


def test_gradient_accumulation() -> None:
    optimizer = ("Adam", {"gradient_accumulation_steps": 2})
    assert_equal(*both(lambda: dense("keras", optimizer), (X, Y), epochs=3, validated=False))


@pytest.mark.parametrize("package", FAMILIES)
def test_sample_weights(package: str) -> None:
    weights = np.linspace(0, 2, len(X)).astype(np.float32)
    theirs, ours = dense(package, weighted_metrics=[]), dense(package, weighted_metrics=[])
    eagerly(theirs).fit(X, Y, sample_weight=weights, batch_size=BATCH, shuffle=False, verbose=0)
    moxing.keras.fit(ours, (X, Y, weights), batch_size=BATCH, shuffle=False)
    assert_equal(theirs, ours)
    other = dense(package)
    moxing.keras.fit(other, (X, Y), batch_size=BATCH, shuffle=False)
    assert not np.allclose(values(other)[0], values(ours)[0])


def several(package: str) -> Any:
    """Two inputs by name, two outputs, losses with weights, and one that a layer adds."""
    keras = importlib.import_module(package)
    keras.utils.set_random_seed(0)
    layers = keras.layers
    a, b = layers.Input((8,), name="a"), layers.Input((8,), name="b")
    hidden = layers.concatenate([layers.Dense(8, activation="relu")(a), layers.Dense(4)(b)])
    hidden = layers.ActivityRegularization(l2=0.01)(hidden)
    first = layers.Dense(3, activation="softmax", name="first")(hidden)
    second = layers.Dense(1, name="second")(hidden)
    model = keras.Model({"a": a, "b": b}, {"first": first, "second": second})
    model.compile(
        keras.optimizers.SGD(0.1),
        loss={"first": keras.losses.SparseCategoricalCrossentropy(), "second": "mse"},
        loss_weights={"first": 1.0, "second": 0.3},
        metrics={"first": ["accuracy"], "second": ["mae"]},
    )
    return model


@pytest.mark.parametrize("package", FAMILIES)
def test_several_inputs_outputs_and_added_losses(package: str) -> None:
    data = ({"a": X, "b": X[:, ::-1].copy()}, {"first": Y, "second": X[:, :1].copy()})
    assert_equal(*both(lambda: several(package), data, eager=False))


@pytest.mark.parametrize("package", FAMILIES)
def test_model_that_is_a_class_and_not_yet_built(package: str) -> None:
    keras = importlib.import_module(package)

    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first = keras.layers.Dense(8, activation="relu")
            self.norm = keras.layers.BatchNormalization()
            self.last = keras.layers.Dense(3)

        def call(self, x: Any, training: bool = False) -> Any:
            return self.last(self.norm(self.first(x), training=training))

    def make() -> Any:
        keras.utils.set_random_seed(0)
        model = Net()
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("adam", loss, metrics=["accuracy"])
        return model

    theirs, ours = make(), make()
    for model in (theirs, ours):
        model(X[:1])
    ours.set_weights(theirs.get_weights())
    fresh = make()  # It is built inside of fit.
    eagerly(theirs).fit(X, Y, batch_size=BATCH, shuffle=False, verbose=0)
    moxing.keras.fit(ours, (X, Y), batch_size=BATCH, shuffle=False)
    moxing.keras.fit(fresh, (X, Y), batch_size=BATCH, shuffle=False)
    assert_equal(theirs, ours)
    assert len(values(fresh)) == len(values(ours))


@pytest.mark.parametrize("package", FAMILIES)
@pytest.mark.slow
def test_text_model_with_rows_of_an_embedding_and_a_recurrent_layer(package: str) -> None:
    keras = importlib.import_module(package)
    words = np.random.RandomState(2).randint(0, 20, (130, 6))

    def make() -> Any:
        keras.utils.set_random_seed(0)
        layers = keras.layers
        model = keras.Sequential(
            [
                layers.Input((6,), dtype="int64"),
                layers.Embedding(20, 8, mask_zero=True),
                layers.LSTM(8),
                layers.Dense(3, activation="softmax"),
            ]
        )
        # Adam of Keras 3 squares the parts of a row that a batch uses often, not their sum.
        optimizer = "adam" if package == "tf_keras" else "sgd"
        model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
        return model

    theirs, ours = both(make, (words, Y))
    assert_equal(theirs, ours, 1e-4 if package == "tf_keras" else 1e-5)
    halves = make()
    moxing.keras.fit(halves, (words, Y), batch_size=BATCH, epochs=2, shuffle=False, num_gpus=2)
    assert_equal(theirs, halves, 1e-4)


def test_train_step_of_the_user() -> None:
    keras = importlib.import_module("keras")

    class Net(keras.Sequential):
        def train_step(self, data: Any) -> Any:
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compute_loss(y=y, y_pred=self(x, training=True)) * 2.0
            gradients = tape.gradient(loss, self.trainable_weights)
            self.optimizer.apply(gradients, self.trainable_weights)
            return {"twice": loss}

    def make() -> Any:
        keras.utils.set_random_seed(0)
        model = Net([keras.layers.Input((8,)), keras.layers.Dense(3, activation="softmax")])
        model.compile(keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy")
        return model

    theirs, ours = make(), make()
    eagerly(theirs).fit(X, Y, batch_size=BATCH, shuffle=False, verbose=0)
    moxing.keras.fit(ours, (X, Y), batch_size=BATCH, shuffle=False)
    assert_equal(theirs, ours)


@pytest.mark.parametrize("package", FAMILIES)
def test_devices_change_nothing_where_shares_are_uneven(package: str) -> None:
    def fit(devices: int) -> tuple[Any, Any]:
        model = dense(package)
        return model, moxing.keras.fit(
            model, (X, Y), batch_size=BATCH, epochs=2, seed=1, num_gpus=devices
        )

    (one, first), (two, second), (three, _) = fit(1), fit(2), fit(3)
    assert_equal(one, two)
    assert_equal(one, three)
    # The last batch, of 2 samples, goes to each of 3 devices whole, so that their means differ.
    np.testing.assert_allclose(first.history["loss"], second.history["loss"], rtol=1e-5)


# Rows of repeated ids: what Keras computes with dense gradients, on one device or several. Rows are
# summed before any optimizer sees them, so one optimizer and one norm of it show one device.
@pytest.mark.parametrize("package", FAMILIES)
@pytest.mark.parametrize(
    ("name", "arguments", "numbers"),
    [
        ("Adam", {"learning_rate": 0.01}, (1, 2)),
        ("RMSprop", {"learning_rate": 0.01}, (2,)),
        ("Adagrad", {"learning_rate": 0.1}, (2,)),
        ("SGD", {"learning_rate": 0.1, "clipnorm": 0.1}, (1, 2)),
        ("Adam", {"learning_rate": 0.01, "global_clipnorm": 0.1}, (2,)),
    ],
)
def test_a_row_that_a_batch_uses_often_gets_its_sum(
    package: str, name: str, arguments: dict[str, Any], numbers: tuple[int, ...]
) -> None:
    keras = importlib.import_module(package)
    ids, labels = np.array([[0], [0], [0], [1]]), np.array([[1], [5], [2], [4]], np.float32) / 3

    def make(dense: bool) -> Any:
        layers = keras.layers
        if dense:
            table = layers.Dense(1, use_bias=False, kernel_initializer="ones")
            first = [layers.Input((1, 6)), table]
        else:
            first = [layers.Input((1,)), layers.Embedding(6, 1, embeddings_initializer="ones")]
        model = keras.Sequential([*first, layers.Flatten()])
        model.compile(getattr(keras.optimizers, name)(**arguments), "mse")
        return model

    expected = make(True)
    eagerly(expected).fit(np.eye(6)[ids], labels, batch_size=4, epochs=4, shuffle=False, verbose=0)
    for devices in numbers:
        ours = make(False)
        moxing.keras.fit(ours, (ids, labels), batch_size=4, steps=4, num_gpus=devices)
        np.testing.assert_allclose(
            ours.get_weights()[0], expected.get_weights()[0], rtol=1e-5, err_msg=str(devices)
        )
