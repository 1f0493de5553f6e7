"""Files that Keras 1.2 to 2.3 wrote, made here by hand in the form of each version."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError
from moxing.keras.building.trace import eager_mode
from moxing.legacy.keras import arrival
from moxing.legacy.keras.old_files import converted

CHANCE = np.random.RandomState(0)
Weights = Mapping[str, Mapping[str, Any]]
KERNEL, BIAS = CHANCE.randn(4, 3).astype(np.float32), CHANCE.randn(3).astype(np.float32)
SECOND = CHANCE.randn(3, 2).astype(np.float32), CHANCE.randn(2).astype(np.float32)
X = CHANCE.randn(5, 4).astype(np.float32)


@pytest.fixture(autouse=True)
def _keras2() -> None:
    arrival.prepare()


def loaded(path: Path) -> Any:
    from tf_keras.models import load_model

    return load_model(path)


def write(
    path: Path, version: str, config: Any, weights: Weights, grouped: bool, **more: Any
) -> Path:
    """Writes a file; `grouped` as of Keras 2, which kept the version with the weights too."""
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"] = version.encode()
        file.attrs["model_config"] = json.dumps(config).encode()
        group = file.create_group("model_weights")
        group.attrs["layer_names"] = [name.encode() for name in weights]
        if grouped:
            group.attrs["backend"] = b"tensorflow"
            group.attrs["keras_version"] = version.encode()
        _arrays(group, weights)
        if "training" in more:
            file.attrs["training_config"] = json.dumps(more["training"]).encode()
            slots = file.create_group("optimizer_weights")
            slots.attrs["weight_names"] = [name.encode() for name in more["slots"]]
            for name, value in more["slots"].items():
                slots.create_dataset(name, data=value)
    return path


def _arrays(group: Any, weights: Weights) -> None:
    for layer, arrays in weights.items():
        of_layer = group.create_group(layer)
        of_layer.attrs["weight_names"] = [name.encode() for name in arrays] or np.array([], "S1")
        for name, value in arrays.items():
            of_layer.create_dataset(name, data=value)


def dense(name: str, units: int, activation: str, size: int | None = None) -> dict[str, Any]:
    config: dict[str, Any] = {
        "name": name,
        "trainable": True,
        "units": units,
        "activation": activation,
        "use_bias": True,
        "kernel_initializer": {
            "class_name": "VarianceScaling",
            "config": {"scale": 1.0, "mode": "fan_avg", "distribution": "uniform", "seed": None},
        },
        "bias_initializer": {"class_name": "Zeros", "config": {}},
        "kernel_regularizer": {"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.01}},
        "bias_regularizer": None,
        "activity_regularizer": None,
        "kernel_constraint": None,
        "bias_constraint": None,
    }
    if size is not None:
        config |= {"batch_input_shape": [None, size], "dtype": "float32"}
    return {"class_name": "Dense", "config": config}


def dense1(name: str, units: int, activation: str, size: int | None = None) -> dict[str, Any]:
    """A Dense layer as Keras 1 described it."""
    config: dict[str, Any] = {
        "name": name,
        "trainable": True,
        "output_dim": units,
        "init": "glorot_uniform",
        "activation": activation,
        "W_regularizer": {"name": "WeightRegularizer", "l1": 0.0, "l2": 0.01},
        "b_regularizer": None,
        "activity_regularizer": None,
        "W_constraint": {"name": "MaxNorm", "m": 2, "axis": 0},
        "b_constraint": None,
        "bias": True,
        "input_dim": size,
    }
    if size is not None:
        config |= {"batch_input_shape": [None, size], "input_dtype": "float32"}
    return {"class_name": "Dense", "config": config}


def softmax(values: np.ndarray) -> np.ndarray:
    powers = np.exp(values - values.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


EXPECTED = softmax(np.maximum(X @ KERNEL + BIAS, 0) @ SECOND[0] + SECOND[1])


@pytest.mark.parametrize("version", ["2.0.8", "2.3.1"])
def test_keras_2_with_the_state_of_its_optimizer(version: str, tmp_path: Path) -> None:
    layers = [dense("dense_1", 3, "relu", 4), dense("dense_2", 2, "softmax")]
    late = version == "2.3.1"
    config = {"name": "sequential_1", "layers": layers} if late else layers
    adam = {"beta_1": 0.9, "beta_2": 0.999, "decay": 0.01, "epsilon": 1e-7}
    adam["learning_rate" if late else "lr"] = 0.002
    training = {
        "optimizer_config": {"class_name": "Adam", "config": adam},
        "loss": "categorical_crossentropy",
        "metrics": ["accuracy"],
        "sample_weight_mode": None,
        "loss_weights": None,
    }
    arrays = [KERNEL, BIAS, *SECOND]
    slots: dict[str, Any] = {"Adam/iterations:0": np.int64(7)}
    for number, value in enumerate([0.01] * 4 + [0.02] * 4):
        name = f"training/Adam/Variable{f'_{number}' if number else ''}:0"
        slots[name] = np.full_like(arrays[number % 4], value)
    weights = {
        "dense_1": {"dense_1/kernel:0": KERNEL, "dense_1/bias:0": BIAS},
        "dense_2": {"dense_2/kernel:0": SECOND[0], "dense_2/bias:0": SECOND[1]},
    }
    whole = {"class_name": "Sequential", "config": config}
    path = write(
        tmp_path / "model.h5", version, whole, weights, True, training=training, slots=slots
    )
    model = loaded(path)
    np.testing.assert_allclose(model.predict(X, verbose=0), EXPECTED, rtol=1e-5)
    assert float(model.optimizer.learning_rate) == pytest.approx(0.002)
    assert int(model.optimizer.iterations) == 7
    moments = [np.unique(value).tolist() for value in model.optimizer.get_weights()[1:]]
    assert moments == [[pytest.approx(0.01)]] * 4 + [[pytest.approx(0.02)]] * 4
    model.train_on_batch(X, np.eye(2)[[0, 1, 0, 1, 0]])


def test_a_sequential_model_of_keras_1(tmp_path: Path) -> None:
    dropout = {"class_name": "Dropout", "config": {"p": 0.25, "trainable": True, "name": "drop"}}
    layers = [dense1("dense_1", 3, "relu", 4), dropout, dense1("dense_2", 2, "softmax")]
    weights: Weights = {
        "dense_1": {"dense_1_W": KERNEL, "dense_1_b": BIAS},
        "drop": {},
        "dense_2": {"dense_2_W": SECOND[0], "dense_2_b": SECOND[1]},
    }
    whole = {"class_name": "Sequential", "config": layers}
    model = loaded(write(tmp_path / "model.h5", "1.2.2", whole, weights, False))
    np.testing.assert_allclose(model.predict(X, verbose=0), EXPECTED, rtol=1e-5)
    assert model.layers[1].rate == 0.25
    assert float(model.layers[0].kernel_regularizer.l2) == pytest.approx(0.01)
    assert model.layers[0].kernel_constraint.max_value == 2

    from tf_keras.models import model_from_json

    again: Any = model_from_json(json.dumps({**whole, "keras_version": "1.2.2"}))
    assert again.count_params() == model.count_params()


def test_convolutions_and_batch_norm_of_keras_1(tmp_path: Path) -> None:
    """Of "th" ordering: kernels are (filters, channels, rows, columns)."""
    common = {"trainable": True, "dim_ordering": "th", "border_mode": "valid"}
    conv = {**common, "name": "c", "nb_filter": 2, "nb_row": 3, "nb_col": 3, "subsample": [1, 1]}
    conv |= {"batch_input_shape": [None, 1, 6, 6], "input_dtype": "float32", "bias": True}
    conv |= {"init": "glorot_uniform", "activation": "linear", "W_regularizer": None}
    norm = {"name": "n", "trainable": True, "epsilon": 0.001, "mode": 0, "axis": 1}
    norm |= {"momentum": 0.99, "gamma_regularizer": None, "beta_regularizer": None}
    layers = [
        {"class_name": "Convolution2D", "config": conv},
        {"class_name": "BatchNormalization", "config": norm},
    ]
    kernel = CHANCE.randn(2, 1, 3, 3)
    gamma, beta, mean, variance = CHANCE.rand(4, 2)
    arrays = {"n_gamma": gamma, "n_beta": beta, "n_running_mean": mean, "n_running_std": variance}
    weights = {"c": {"c_W": kernel, "c_b": np.zeros(2)}, "n": arrays}
    whole = {"class_name": "Sequential", "config": layers}
    model = loaded(write(tmp_path / "model.h5", "1.2.2", whole, weights, False))
    assert model.layers[0].data_format == "channels_first"
    assert model.layers[0].kernel.shape.as_list() == [3, 3, 1, 2]
    found = np.asarray(model.layers[0].get_weights()[0]).transpose(3, 2, 0, 1)
    np.testing.assert_allclose(found, kernel, rtol=1e-6)
    np.testing.assert_allclose(model.layers[1].get_weights(), [gamma, beta, mean, variance], 1e-6)
    with pytest.raises(MoxNotSupportedError, match=r"'n', a BatchNormalization of mode=1"):
        converted([{"class_name": "BatchNormalization", "config": {**norm, "mode": 1}}], {})


def test_an_lstm_of_keras_1_has_its_gates_in_order(tmp_path: Path) -> None:
    embedding = {
        "name": "e",
        "trainable": True,
        "input_dim": 10,
        "output_dim": 4,
        "init": "uniform",
    }
    embedding |= {"input_length": 5, "batch_input_shape": [None, 5], "input_dtype": "int32"}
    embedding |= {"W_regularizer": None, "mask_zero": False, "dropout": 0.0}
    lstm = {"name": "l", "trainable": True, "output_dim": 3, "init": "glorot_uniform"}
    lstm |= {"inner_init": "orthogonal", "forget_bias_init": "one", "consume_less": "cpu"}
    lstm |= {"activation": "tanh", "inner_activation": "sigmoid", "input_dim": 4}
    lstm |= {"input_length": None, "dropout_W": 0.2, "dropout_U": 0.1, "return_sequences": False}
    table = CHANCE.randn(10, 4)
    gates = {g: (CHANCE.randn(4, 3), CHANCE.randn(3, 3), CHANCE.randn(3)) for g in "icfo"}
    arrays = {
        f"l_{part}_{gate}": value
        for gate, parts in gates.items()
        for part, value in zip("WUb", parts, strict=True)
    }
    layers = [
        {"class_name": "Embedding", "config": embedding},
        {"class_name": "LSTM", "config": lstm},
    ]
    whole = {"class_name": "Sequential", "config": layers}
    model = loaded(
        write(tmp_path / "m.h5", "1.1.0", whole, {"e": {"e_W": table}, "l": arrays}, False)
    )
    ids = CHANCE.randint(0, 10, (2, 5))
    state, memory = np.zeros((2, 3)), np.zeros((2, 3))

    def sigmoid(values: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-values))

    for step in range(5):
        z = {g: table[ids[:, step]] @ w + state @ u + b for g, (w, u, b) in gates.items()}
        memory = sigmoid(z["f"]) * memory + sigmoid(z["i"]) * np.tanh(z["c"])
        state = sigmoid(z["o"]) * np.tanh(memory)
    np.testing.assert_allclose(model.predict(ids, verbose=0), state, rtol=1e-4, atol=1e-5)
    assert (model.layers[1].dropout, model.layers[1].recurrent_dropout) == (0.2, 0.1)


def test_a_functional_model_of_keras_1_merges(tmp_path: Path) -> None:
    given = {"batch_input_shape": [None, 4], "input_dtype": "float32", "name": "input_1"}
    merge = {"name": "merge_1", "mode": "concat", "mode_type": "raw", "concat_axis": -1}
    layers: list[dict[str, Any]] = [
        {"name": "input_1", "class_name": "InputLayer", "config": given, "inbound_nodes": []},
        {**dense1("a", 3, "linear"), "name": "a", "inbound_nodes": [[["input_1", 0, 0]]]},
        {**dense1("b", 3, "linear"), "name": "b", "inbound_nodes": [[["input_1", 0, 0]]]},
        {"name": "merge_1", "class_name": "Merge", "config": merge},
    ]
    layers[-1]["inbound_nodes"] = [[["a", 0, 0], ["b", 0, 0]]]
    config = {"name": "model_1", "layers": layers}
    config |= {"input_layers": [["input_1", 0, 0]], "output_layers": [["merge_1", 0, 0]]}
    weights: Weights = {
        "input_1": {},
        "a": {"a_W": KERNEL, "a_b": BIAS},
        "b": {"b_W": -KERNEL, "b_b": BIAS},
        "merge_1": {},
    }
    whole = {"class_name": "Model", "config": config}
    model = loaded(write(tmp_path / "model.h5", "1.2.0", whole, weights, False))
    expected = np.concatenate([X @ KERNEL + BIAS, BIAS - X @ KERNEL], -1)
    np.testing.assert_allclose(model.predict(X, verbose=0), expected, rtol=1e-4, atol=1e-5)


def test_what_is_gone_is_named_and_own_classes_stay() -> None:
    gone = {"class_name": "MaxoutDense", "config": {"name": "maxout_1", "output_dim": 3}}
    with pytest.raises(MoxNotSupportedError, match=r"layer 'maxout_1' of the class MaxoutDense"):
        converted({"class_name": "Sequential", "config": [gone]}, {})
    assert converted([gone], {"MaxoutDense": object}) == [gone]
    function = {"class_name": "Merge", "config": {"name": "m", "mode": "<lambda>"}}
    with pytest.raises(MoxNotSupportedError, match=r"a Merge whose mode is a function"):
        converted(function, {})
    new = dense("dense_1", 3, "relu", 4)
    assert converted(new, {}) == new


def test_a_graph_writes_hdf5_to_a_path_that_ends_in_keras(tmp_path: Path) -> None:
    from tf_keras import layers, models

    path, x = str(tmp_path / "model.keras"), np.ones([2, 4], np.float32)
    with tf.Graph().as_default(), tf.Session().as_default():
        model: Any = models.Sequential([layers.Dense(3, input_shape=(4,))])
        model.compile("rmsprop", "mse")
        model.fit(x, np.ones([2, 3], np.float32), verbose=0)
        model.save(path)
        wanted = model.predict(x)
    assert h5py.is_hdf5(path)
    with tf.Graph().as_default(), tf.Session().as_default():
        read: Any = models.load_model(path)
        assert np.allclose(read.predict(x), wanted)
        assert read.optimizer is not None


def test_eager_execution_writes_the_archive_of_today(tmp_path: Path) -> None:
    from tf_keras import layers, models

    path = str(tmp_path / "model.keras")
    with eager_mode():
        models.Sequential([layers.Dense(3, input_shape=(4,))]).save(path)
    assert zipfile.is_zipfile(path)
