"""Data, resuming, callbacks and errors of `moxing.keras.fit`."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from models import BATCH, FAMILIES, X, Y, assert_equal, dense, eagerly

import moxing.keras
from moxing.errors import CheckpointError, MoxNotSupportedError, MoxTypeError, MoxValueError
from moxing.keras import data


@pytest.fixture(scope="module")
def trained() -> Any:
    """A model that Keras trained for 2 epochs."""
    model = dense("keras")
    eagerly(model).fit(X, Y, batch_size=BATCH, epochs=2, shuffle=False, verbose=0)
    return model


def samples() -> Any:
    return tf.data.Dataset.from_tensor_slices((X, Y))


def generated() -> Any:
    def pairs() -> Any:
        yield from zip(X, Y, strict=True)

    signature = (tf.TensorSpec((8,), tf.float32), tf.TensorSpec((), tf.int64))
    return tf.data.Dataset.from_generator(pairs, output_signature=signature)


@pytest.mark.parametrize(
    ("given", "more"),
    [
        (samples().batch(BATCH).map(lambda x, y: (x * 1.0, y)), {"epochs": 2}),
        (samples(), {"epochs": 2, "batch_size": BATCH}),
        (lambda: samples().batch(BATCH), {"epochs": 2}),
        (lambda context: samples().batch(BATCH // context.num_input_pipelines), {"epochs": 2}),
        (lambda: (X.astype(np.float64), Y), {"epochs": 2, "batch_size": BATCH, "shuffle": False}),
        (generated().batch(BATCH), {"steps": 10}),
    ],
    ids=["batches", "samples", "function", "context", "arrays", "generator"],
)
def test_forms_of_data(given: Any, more: dict[str, Any], trained: Any) -> None:
    model = dense("keras")
    result = moxing.keras.fit(model, given, **more)
    assert result.steps == 10
    assert_equal(model, trained)


def test_arrays_come_in_a_new_order_each_epoch_that_a_seed_fixes() -> None:
    runs = []
    for seed in (1, 1, 2):
        model = dense("keras", "sgd")
        moxing.keras.fit(model, (X, Y), batch_size=BATCH, epochs=2, seed=seed)
        runs.append(model.get_weights()[0])
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


@pytest.mark.parametrize("package", FAMILIES)
def test_resumes_in_the_middle_of_an_epoch(package: str, tmp_path: Path) -> None:
    whole = dense(package, "adam", "norm")
    moxing.keras.fit(whole, (X, Y), batch_size=BATCH, epochs=3, seed=5)
    for steps in (7, 15):
        model = dense(package, "adam", "norm")
        given = {"batch_size": BATCH, "seed": 5, "output_dir": tmp_path / "run"}
        result = moxing.keras.fit(model, (X, Y), steps=steps, **given)
    assert result.global_step == 15
    assert result.steps == 8
    assert result.epoch == [1, 2]
    assert_equal(model, whole)
    again = dense(package, "adam", "norm")
    assert moxing.keras.fit(again, (X, Y), steps=15, **given).steps == 0
    assert_equal(again, whole)
    names = dict(tf.train.list_variables(str(tmp_path / "run")))
    assert "dense_1/kernel" in {name.removeprefix("sequential/") for name in names}


def test_dropout_goes_on_after_a_resume(tmp_path: Path) -> None:
    whole = dense("keras", "adam", "drop")
    moxing.keras.fit(whole, (X, Y), batch_size=BATCH, epochs=2, shuffle=False)
    for epochs in (1, 2):
        model = dense("keras", "adam", "drop")
        moxing.keras.fit(
            model, (X, Y), batch_size=BATCH, epochs=epochs, shuffle=False, output_dir=tmp_path
        )
    assert_equal(model, whole)


@pytest.mark.parametrize("package", FAMILIES)
def test_callbacks_see_and_change_the_model(package: str, tmp_path: Path) -> None:
    keras: Any = importlib.import_module(package)

    def make() -> list[Any]:
        def halve(epoch: int, rate: float) -> float:
            return rate * 0.5

        path = str(tmp_path / "best.weights.h5")
        saving = keras.callbacks.ModelCheckpoint(path, save_weights_only=True)
        stopping = keras.callbacks.EarlyStopping("loss", patience=0, min_delta=10.0)
        return [keras.callbacks.LearningRateScheduler(halve), saving, stopping]

    theirs, ours = dense(package, "sgd"), dense(package, "sgd")
    expected = eagerly(theirs).fit(
        X, Y, batch_size=BATCH, epochs=5, shuffle=False, verbose=0, callbacks=make()
    )
    (tmp_path / "best.weights.h5").unlink()
    result = moxing.keras.fit(
        ours, (X, Y), batch_size=BATCH, epochs=5, shuffle=False, callbacks=make()
    )
    assert result.epoch == expected.epoch == [0, 1]
    np.testing.assert_allclose(result.history["loss"], expected.history["loss"], rtol=1e-5)
    np.testing.assert_allclose(ours.get_weights()[0], theirs.get_weights()[0], rtol=1e-5)
    saved = dense(package, "sgd")
    saved.load_weights(tmp_path / "best.weights.h5")
    np.testing.assert_allclose(saved.get_weights()[0], ours.get_weights()[0])


def test_evaluates_every_so_many_steps() -> None:
    seen = []
    model = dense("keras")
    before = model.evaluate(X, Y, verbose=0, return_dict=True)["loss"]
    original = model.evaluate
    model.evaluate = lambda *a, **k: seen.append(original(*a, **k)) or seen[-1]
    result = moxing.keras.fit(model, (X, Y), (X, Y), batch_size=BATCH, steps=10, eval_every=4)
    assert len(seen) == 2
    assert len({before, *(values["loss"] for values in seen)}) == 3
    assert result.history["val_loss"] == [seen[0]["loss"], seen[1]["loss"]]


def refused(kind: type[Exception], *words: str, model: Any = None, **arguments: Any) -> None:
    given: dict[str, Any] = {"train_data": (X, Y), "epochs": 1, **arguments}
    with pytest.raises(kind) as caught:
        moxing.keras.fit(dense("keras") if model is None else model, **given)
    for word in words:
        assert word in str(caught.value)


def test_what_is_refused_says_what_to_do() -> None:
    keras: Any = importlib.import_module("keras")
    plain = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(3)])
    refused(MoxTypeError, "must be a keras.Model", model="model")
    refused(MoxValueError, "is not compiled", "optimizer= and loss=", model=plain)
    refused(MoxValueError, "without optimizer=", model=plain, loss="mse")
    refused(MoxValueError, "give one of them", steps=3)
    refused(MoxValueError, "single samples", "Pass batch_size=", train_data=samples())
    refused(MoxValueError, "batch them again", train_data=samples().batch(8), batch_size=8)
    refused(MoxValueError, "Pass steps=", train_data=generated().batch(8))
    refused(MoxValueError, "must have the same number", train_data=(X, Y[:5]))
    refused(MoxTypeError, "it must be arrays", train_data=None)
    refused(MoxTypeError, "must hold Keras callbacks", callbacks=["x"])
    refused(MoxValueError, "batch_size=0", batch_size=0)
    refused(MoxValueError, "it must be at most 4611686018427387904", batch_size=10**30)
    refused(MoxTypeError, "fit has seed='a'; it must be a whole number.", seed="a")
    refused(MoxTypeError, "must be a number of seconds", save_every_secs="a")
    refused(MoxValueError, "fit has save_every_secs=-1; it must be above 0.", save_every_secs=-1)
    refused(MoxTypeError, "fit has start_timeout='a'", start_timeout="a")
    swap = keras.callbacks.SwapEMAWeights()
    refused(MoxNotSupportedError, "has use_ema=True", callbacks=[swap])

    old: Any = importlib.import_module("tf_keras")
    refused(
        MoxValueError,
        "of tf_keras, but the model is of keras",
        callbacks=[old.callbacks.Callback()],
    )


def test_evaluation_data_without_a_batch_or_without_end_is_refused() -> None:
    nothing = samples().filter(lambda x, y: y > 99).batch(BATCH)
    refused(MoxValueError, "The dataset of eval_data is empty", eval_data=nothing)
    endless = samples().repeat().batch(BATCH)
    refused(MoxValueError, "has no end", "Pass eval_steps=", eval_data=endless)
    result = moxing.keras.fit(dense("keras"), (X, Y), endless, epochs=1, eval_steps=2)
    assert len(result.history["val_loss"]) == 1


def test_finished_run_of_another_model_is_no_result(tmp_path: Path) -> None:
    keras: Any = importlib.import_module("keras")
    moxing.keras.fit(dense("keras"), (X, Y), epochs=1, output_dir=tmp_path)
    other = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(3, name="other")])
    other.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    words = ("with another model", "other/kernel is not there", "choose a new output_dir")
    refused(CheckpointError, *words, model=other, output_dir=tmp_path)


def test_model_without_compile_gets_it_from_fit() -> None:
    keras: Any = importlib.import_module("keras")
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(3)])
    before = model.get_weights()[0].copy()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    result = moxing.keras.fit(model, (X, Y), optimizer="adam", loss=loss, metrics=["accuracy"])
    assert sorted(result.history) == ["accuracy", "loss"]
    assert not np.allclose(model.get_weights()[0], before)


def test_batches_of_arrays_are_counted() -> None:
    assert data.read((X, Y), 32, "train_data").batches == 5
    assert data.read(samples(), 32, "train_data").batches == 5
    assert data.read(samples().batch(32), None, "train_data").batches == 5
    assert data.read(samples().batch(32).repeat(), None, "train_data").batches is None


def test_dataset_with_a_lookup_table(trained: Any) -> None:
    keys, values = [f"class {n}" for n in range(3)], [0, 1, 2]
    initial = tf.lookup.KeyValueTensorInitializer(keys, tf.constant(values, tf.int64))
    table = tf.lookup.StaticHashTable(initial, -1)
    named = tf.data.Dataset.from_tensor_slices((X, [keys[y] for y in Y]))
    model = dense("keras")
    found = named.map(lambda x, name: (x, table.lookup(name))).batch(BATCH)
    moxing.keras.fit(model, found, epochs=2)
    assert_equal(model, trained)


@pytest.mark.parametrize("package", FAMILIES)
def test_layers_with_lookup_tables(package: str) -> None:
    """Words as pandas holds them, too: as Python objects."""
    keras: Any = importlib.import_module(package)
    layers = keras.layers

    def make() -> Any:
        keras.utils.set_random_seed(1)
        word = layers.Input((1,), dtype="string", name="word")
        number = layers.Input((1,), dtype="int64", name="number")
        text = layers.TextVectorization(max_tokens=9, output_sequence_length=2)
        text.adapt(np.array(["red car", "blue car"]))
        found = [
            layers.Embedding(3, 2)(layers.StringLookup(vocabulary=["a", "b"])(word)),
            layers.Embedding(4, 2)(layers.IntegerLookup(vocabulary=[5, 7])(number)),
            layers.Embedding(9, 2)(text(word)),
        ]
        flat = [layers.Flatten()(one) for one in found]
        model = keras.Model([word, number], layers.Dense(1)(layers.Concatenate()(flat)))
        model.compile(keras.optimizers.SGD(0.1), "mse")
        return model

    words = np.array([["a"], ["b"], ["red car"], ["blue"]] * 4)
    x = {"word": words, "number": np.array([[5], [7], [9], [5]] * 4)}
    y = np.linspace(-1, 1, 16, dtype=np.float32)[:, None]
    theirs, ours = make(), make()
    tensors = {"word": tf.constant(words), "number": x["number"]}
    eagerly(theirs).fit(tensors, y, batch_size=8, shuffle=False, verbose=0)
    moxing.keras.fit(ours, ({**x, "word": words.astype(object)}, y), batch_size=8, shuffle=False)
    for known, made in zip(theirs.trainable_weights, ours.trainable_weights, strict=True):
        np.testing.assert_allclose(made.numpy(), known.numpy(), atol=1e-5)


@pytest.mark.parametrize("package", FAMILIES)
def test_mixed_precision_with_a_loss_scale(package: str) -> None:
    keras: Any = importlib.import_module(package)
    keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        theirs, ours = dense(package), dense(package)
    finally:
        keras.mixed_precision.set_global_policy("float32")
    eagerly(theirs).fit(X, Y, batch_size=BATCH, shuffle=False, verbose=0)
    moxing.keras.fit(ours, (X, Y), batch_size=BATCH, shuffle=False)
    assert type(ours.optimizer).__name__.startswith("LossScaleOptimizer")
    assert_equal(theirs, ours, 1e-4)


def test_finished_run_of_a_model_with_a_weight_that_it_does_not_use(tmp_path: Path) -> None:
    keras: Any = importlib.import_module("keras")

    class Idle(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.idle = keras.layers.Dense(3), keras.layers.Dense(2)

        def build(self, shape: Any) -> None:
            self.used.build(shape)
            self.idle.build(shape)
            self.built = True

        def call(self, x: Any) -> Any:
            return self.used(x)

    models = []
    for _ in range(2):
        model = Idle()
        model.build((None, 8))
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        moxing.keras.fit(model, (X, Y), epochs=1, output_dir=tmp_path)
        models.append(model)
    np.testing.assert_array_equal(*(model.used.kernel.numpy() for model in models))


def test_checkpoints_that_are_kept_for_good(tmp_path: Path) -> None:
    def kept(**given: Any) -> set[int]:
        moxing.keras.fit(dense("keras"), (X, Y), save_every=1, keep=1, output_dir=tmp_path, **given)
        return {int(path.stem.split("-")[1]) for path in tmp_path.glob("*.index")}

    assert kept(steps=2, keep_every_hours=1e-9) == {0, 1, 2}
    assert kept(steps=4) == {0, 1, 2, 4}
