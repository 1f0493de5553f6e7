"""Keras models as estimators: built anew, from the weights they have, with what they compiled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import tf_keras as keras

import moxing.estimator as tfe
from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError

Read = Callable[..., Any]
BATCH = 600


def compiled(optimizer: Any = None, loss: Any = None, **settings: Any) -> Any:
    """Of all that has a meaning of its own in training and in evaluation, one."""
    inside = keras.Input((5,), name="x")
    hidden = keras.layers.Dense(8, "relu", kernel_regularizer="l2", name="hidden")(inside)
    hidden = keras.layers.BatchNormalization(momentum=0.5, name="norm")(hidden)
    outside = keras.layers.Dense(2, activation="softmax", name="out")(hidden)
    model = keras.Model(inside, outside)
    loss = "sparse_categorical_crossentropy" if loss is None else loss
    model.compile(
        keras.optimizers.Adam(0.01) if optimizer is None else optimizer,
        loss,
        **{"metrics": ["accuracy"], **settings},
    )
    return model


def test_it_evaluates_as_keras_does(tmp_path: Path, read: Read, problem: SimpleNamespace) -> None:
    metrics = ["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(1, name="top")]
    model = compiled(metrics=metrics)
    model.fit(problem.x, problem.y, verbose=0)
    expected = model.evaluate(problem.x, problem.y, batch_size=BATCH, verbose=0, return_dict=True)

    estimator = tfe.model_to_estimator(model, model_dir=tmp_path)
    result = estimator.evaluate(read(BATCH, epochs=1))

    assert result.keys() == {"loss", "accuracy", "top", "global_step"}
    assert result["global_step"] == 0
    for name, value in expected.items():
        assert result[name] == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize(
    ("optimizer", "loss"),
    [
        (lambda: keras.optimizers.Adam(0.01), None),
        (lambda: keras.optimizers.legacy.SGD(0.05, momentum=0.9, nesterov=True), None),
        (lambda: tf.train.AdamOptimizer(0.01, epsilon=1e-7), None),
        (
            lambda: keras.optimizers.legacy.RMSprop(0.01),
            keras.losses.SparseCategoricalCrossentropy(),
        ),
    ],
)
def test_it_trains_as_keras_does(
    optimizer: Any, loss: Any, tmp_path: Path, read: Read, problem: SimpleNamespace
) -> None:
    """Full batches, so that there is no order of samples."""
    model = compiled(optimizer(), loss)
    estimator = tfe.model_to_estimator(model, model_dir=tmp_path)
    estimator.train(read(BATCH), steps=4)
    model.fit(problem.x, problem.y, batch_size=BATCH, epochs=4, shuffle=False, verbose=0)

    made = estimator.predict(read(BATCH, epochs=1, shuffle=False))
    np.testing.assert_allclose(
        [one["out"] for one in made], model.predict(problem.x, verbose=0), atol=2e-4
    )
    # The moving averages of batch normalization were updated, too.
    names = [name for name in estimator.get_variable_names() if name.endswith("moving_mean")]
    np.testing.assert_allclose(
        estimator.get_variable_value(names[0]), model.layers[2].moving_mean.numpy(), atol=1e-4
    )


def test_the_model_stays_as_it_is(tmp_path: Path, read: Read, problem: SimpleNamespace) -> None:
    model = compiled()
    before = model.get_weights()
    estimator = tfe.model_to_estimator(model, model_dir=tmp_path).train(read(), steps=3)

    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    model.fit(problem.x, problem.y, verbose=0)  # It is eager still.
    assert estimator.evaluate(read(epochs=1))["global_step"] == 3


def test_a_run_goes_on_from_its_checkpoint(tmp_path: Path, read: Read) -> None:
    tfe.model_to_estimator(compiled(), model_dir=tmp_path).train(read(BATCH), max_steps=5)
    again = tfe.model_to_estimator(compiled(), model_dir=tmp_path)
    before = again.evaluate(read(BATCH, epochs=1))["loss"]
    again.train(read(BATCH), max_steps=30)

    assert again.get_variable_value("global_step") == 30
    assert again.evaluate(read(BATCH, epochs=1))["loss"] < before


def test_inputs_and_outputs_by_name(tmp_path: Path, problem: SimpleNamespace) -> None:
    left, right = keras.Input((2,), name="left"), keras.Input((3,), name="right")
    joined = keras.layers.Concatenate()([left, right])
    first = keras.layers.Dense(1, name="first")(joined)
    second = keras.layers.Dense(2, activation="softmax", name="second")(joined)
    model = keras.Model([left, right], [first, second])
    model.compile(
        "sgd",
        {"first": "mse", "second": "sparse_categorical_crossentropy"},
        metrics={"second": ["accuracy"]},
        loss_weights={"first": 0.5, "second": 1.0},
    )
    x, y = problem.x, problem.y
    features = {"right": x[:, 2:].astype(np.float64), "left": x[:, :2].astype(np.float64)}
    labels = {"second": y, "first": x.sum(1)}
    ordered = [features["left"], features["right"]], [labels["first"], labels["second"]]
    expected: Any = model.evaluate(*ordered, BATCH, 0, return_dict=True)  # type: ignore[arg-type]

    estimator = tfe.model_to_estimator(model, model_dir=tmp_path)
    read = tfe.inputs.numpy_input_fn(features, labels, BATCH, shuffle=False)
    result = estimator.evaluate(read)

    assert result["loss"] == pytest.approx(expected["loss"], rel=1e-5)
    assert result["second_accuracy"] == pytest.approx(expected["second_accuracy"])
    estimator.train(read)
    made = next(estimator.predict(read))
    assert {name: value.shape for name, value in made.items()} == {"first": (1,), "second": (2,)}


def test_a_saved_model_in_a_store_and_its_own_layers(
    tmp_path: Path, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Twice(keras.layers.Layer):
        def call(self, inputs: Any) -> Any:
            return inputs * 2

    model = keras.Sequential([Twice(input_shape=(5,)), keras.layers.Dense(2)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    (tmp_path / "store" / "bucket").mkdir(parents=True)
    monkeypatch.setenv("MOX_FILE_S3_ROOT", str(tmp_path / "store"))
    model.save(tmp_path / "store" / "bucket" / "model.h5")

    estimator = tfe.model_to_estimator(
        keras_model_path=Path("s3://bucket/model.h5"),
        custom_objects={"Twice": Twice},
        model_dir=tmp_path / "out",
        metric_names_map={"accuracy": "right"},
    )
    assert estimator.train(read(), steps=2).evaluate(read(epochs=1)).keys() >= {"right"}


def test_exported(tmp_path: Path, read: Read, problem: SimpleNamespace) -> None:
    estimator = tfe.model_to_estimator(compiled(), model_dir=tmp_path / "m").train(read(), steps=2)
    with tf.Graph().as_default():
        features = {"x": tf.placeholder(tf.float32, [None, 5])}
        receiver = tfe.export.build_raw_serving_input_receiver_fn(features)
    path = estimator.export_saved_model(tmp_path / "export", receiver).decode()

    import tensorflow.compat.v2 as tf2

    served = tf2.saved_model.load(path).signatures["serving_default"]
    made = served(x=tf2.constant(problem.x[:4]))["out"]
    expected = list(estimator.predict(read(4, epochs=1, shuffle=False)))[:4]
    np.testing.assert_allclose(made, [one["out"] for one in expected], atol=1e-6)


class Own(keras.Model):
    def call(self, inputs: Any) -> Any:
        return inputs


def with_tensor() -> Any:
    with tf.Graph().as_default():
        rate = tf.constant(0.1)
    model = compiled()
    model.optimizer = keras.src.optimizers.optimizer_v1.TFOptimizer(tf.train.AdamOptimizer(rate))
    return model


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda: None,
            MoxValueError,
            "model_to_estimator needs one of keras_model and keras_model_path.",
        ),
        (
            lambda: 3,
            MoxTypeError,
            "model_to_estimator got 3; it needs a tf.keras model.",
        ),
        (
            Own,
            MoxNotSupportedError,
            "model_to_estimator got a Own that defines its own call(): it can't be built anew from"
            " a configuration. Build it of layers, with tf.keras.Sequential or"
            " tf.keras.Model(inputs, outputs); or write a model_fn for tf.estimator.Estimator, or"
            " use mox.run.",
        ),
        (
            lambda: keras.Sequential([keras.layers.Dense(2)]),
            MoxValueError,
            "model_to_estimator got a model that does not know the shape of its input. Give it to"
            " the first layer: input_shape=(28, 28, 1).",
        ),
        (
            lambda: keras.Sequential([keras.layers.Dense(2, input_shape=(5,))]),
            MoxValueError,
            "model_to_estimator got a model that is not compiled: call model.compile(optimizer,"
            " loss, metrics) before.",
        ),
    ],
)
def test_mistakes(make: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        tfe.model_to_estimator(make())
    assert str(caught.value) == message


def test_a_model_of_keras_3() -> None:
    import keras as keras3

    model = keras3.Sequential([keras3.Input((5,)), keras3.layers.Dense(2)])
    with pytest.raises(MoxNotSupportedError) as caught:
        tfe.model_to_estimator(model)
    assert str(caught.value) == (
        "model_to_estimator got a model of Keras 3, which has no graph to be built in. Run the"
        " program with mox run, where tf.keras is tf_keras; or set TF_USE_LEGACY_KERAS=1 before"
        " TensorFlow is imported."
    )


def test_data_that_does_not_fit(tmp_path: Path, problem: SimpleNamespace) -> None:
    estimator = tfe.model_to_estimator(compiled(), model_dir=tmp_path)
    for features, labels, message in (
        (
            {"a": problem.x, "b": problem.x},
            problem.y,
            "input_fn gives the features 'a', 'b', and the model's inputs are 'x'. Give a dict by"
            " these names, or name the inputs: tf.keras.Input(shape, name=...).",
        ),
        (
            problem.x,
            None,
            "input_fn gives no labels, which a Keras model needs to be trained and evaluated:"
            " return (features, labels).",
        ),
        (
            problem.x,
            {"o": problem.y},
            "input_fn gives no labels for the model's output 'out'; it gives 'o'.",
        ),
    ):
        read = tfe.inputs.numpy_input_fn(features, labels, shuffle=False)
        with pytest.raises((MoxValueError, MoxTypeError)) as caught:
            estimator.train(read)
        assert str(caught.value) == message
