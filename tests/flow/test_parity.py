"""AlexNet and LeNet of the flow dialect make the losses of plain TensorFlow from equal weights.

On one, two and four devices.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.flow as flow
from moxing.flow.runtime import session

STEPS, BATCH, CLASSES = 10, 4, 10
ALEXNET = ((64, 11, 4, "VALID"), (192, 5, 1, "SAME"), (384, 3, 1, "SAME"))
DENSE = (64, 32, CLASSES)
Builder = Callable[[Any, Any], Any]


def _initializer() -> Any:
    return flow.variance_scaling_initializer(1.0, "fan_in", "random_normal")


def _conv(name: str, x: Any, filters: int, kernel: int, stride: int, padding: str) -> Any:
    shape = (filters, x.static_shape[1], kernel, kernel)
    weight = flow.get_variable(f"{name}-weight", shape, flow.float, _initializer())
    out = flow.nn.conv2d(x, weight, stride, padding, "NCHW", name=name)
    return flow.keras.activations.relu(out)


def _alexnet(x: Any, labels: Any) -> Any:
    for i, layer in enumerate(ALEXNET):
        x = _conv(f"conv{i}", x, *layer)
        x = flow.nn.avg_pool2d(x, 3, 2, "VALID", "NCHW") if i < 2 else x
    x = flow.reshape(x, (x.static_shape[0], -1))
    for i, units in enumerate(DENSE):
        last = i == len(DENSE) - 1
        x = flow.layers.dense(
            x, units, None if last else flow.keras.activations.relu, False, _initializer(),
            False, name=f"fc{i}",
        )  # fmt: skip
    return flow.nn.sparse_softmax_cross_entropy_with_logits(labels, x)


def _plain_alexnet(x: Any, labels: Any, w: Callable[[str], Any]) -> Any:
    for i, (_, _, stride, padding) in enumerate(ALEXNET):
        x = tf.nn.relu(tf.nn.conv2d(x, w(f"conv{i}-weight"), strides=stride, padding=padding))
        x = tf.nn.avg_pool2d(x, 3, 2, "VALID") if i < 2 else x
    x = tf.reshape(tf.transpose(x, [0, 3, 1, 2]), [BATCH, -1])
    for i in range(len(DENSE)):
        x = tf.matmul(x, w(f"fc{i}-weight"), transpose_b=True)
        x = tf.nn.relu(x) if i < len(DENSE) - 1 else x
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)


def _lenet(x: Any, labels: Any) -> Any:
    relu = flow.keras.activations.relu
    for i, filters in enumerate((32, 64)):
        x = flow.layers.conv2d(
            x, filters, 5, padding="SAME", activation=relu, kernel_initializer=_initializer(),
            name=f"conv{i}",
        )  # fmt: skip
        x = flow.nn.max_pool2d(x, 2, 2, "SAME", "NCHW")
    x = flow.reshape(x, (x.static_shape[0], -1))
    x = flow.layers.dense(x, 64, relu, kernel_initializer=_initializer(), name="fc0")
    x = flow.layers.dense(x, CLASSES, kernel_initializer=_initializer(), name="fc1")
    return flow.nn.sparse_softmax_cross_entropy_with_logits(labels, x)


def _plain_lenet(x: Any, labels: Any, w: Callable[[str], Any]) -> Any:
    for i in range(2):
        x = tf.nn.conv2d(x, w(f"conv{i}-weight"), strides=1, padding="SAME") + w(f"conv{i}-bias")
        x = tf.nn.max_pool2d(tf.nn.relu(x), 2, 2, "SAME")
    x = tf.reshape(tf.transpose(x, [0, 3, 1, 2]), [BATCH, -1])
    x = tf.nn.relu(tf.matmul(x, w("fc0-weight"), transpose_b=True) + w("fc0-bias"))
    x = tf.matmul(x, w("fc1-weight"), transpose_b=True) + w("fc1-bias")
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)


def _flow_losses(build: Builder, data: list[Any], lr: float, folder: Path) -> list[float]:
    images_def = flow.FixedTensorDef(data[0][0].shape)
    labels_def = flow.FixedTensorDef((BATCH,), flow.int32)

    @flow.function
    def train(
        images: Any = images_def,
        labels: Any = labels_def,
    ) -> Any:
        flow.config.train.primary_lr(lr)
        flow.config.train.model_update_conf({"naive_conf": {}})
        loss = build(flow.transpose(images, (0, 3, 1, 2)), labels)
        flow.losses.add_loss(loss)
        return loss

    point = flow.train.CheckPoint()
    point.init()
    point.save(str(folder))
    return [float(train(*batch).get().mean()) for batch in data]


def _plain_losses(build: Any, data: list[Any], lr: float, folder: Path) -> list[float]:
    """Weights are those that the flow job saved; shapes follow from the layers."""
    with tf.Graph().as_default():
        images = tf.placeholder(tf.float32, data[0][0].shape)
        labels = tf.placeholder(tf.int32, [BATCH])
        variables: dict[str, Any] = {}

        def w(name: str) -> Any:
            values = np.fromfile(folder / name / "out", "<f4")
            outs = _units(name)
            values = values.reshape(outs, -1)
            if name.startswith("conv") and name.endswith("weight"):
                kernel = ALEXNET[int(name[4])][1] if build is _plain_alexnet else 5
                values = values.reshape(outs, -1, kernel, kernel).transpose(2, 3, 1, 0)
            if name.endswith("bias"):
                values = values[:, 0]
            return variables.setdefault(name, tf.Variable(values, use_resource=True)).read_value()

        def _units(name: str) -> int:
            sizes = {"conv0": 32, "conv1": 64, "fc0": 64, "fc1": CLASSES}
            if build is _plain_alexnet:
                sizes = {f"conv{i}": layer[0] for i, layer in enumerate(ALEXNET)}
                sizes |= {f"fc{i}": units for i, units in enumerate(DENSE)}
            return sizes[name.split("-")[0]]

        loss = tf.reduce_mean(build(images, labels, w))
        step = tf.train.GradientDescentOptimizer(lr).minimize(
            loss, var_list=list(variables.values())
        )
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return [float(session.run([loss, step], {images: x, labels: y})[0]) for x, y in data]


def _data(seed: int, count: int, shape: tuple[int, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Batches of images, NHWC, and labels."""
    random = np.random.default_rng(seed)
    return [
        (
            random.normal(size=(BATCH, *shape)).astype(np.float32),
            random.integers(0, CLASSES, BATCH).astype(np.int32),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("devices", [1, 2, 4])
@pytest.mark.parametrize(
    ("ours", "plain", "shape"),
    [(_alexnet, _plain_alexnet, (67, 67, 3)), (_lenet, _plain_lenet, (28, 28, 1))],
    ids=["alexnet", "lenet"],
)
def test_ten_losses_equal_those_of_plain_tensorflow(
    ours: Builder,
    plain: Any,
    shape: tuple[int, ...],
    devices: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session.default().settings.values["gpu_device_num"] = devices
    data = _data(5, STEPS, shape)

    found = _flow_losses(ours, data, 0.002, tmp_path / "start")
    wanted = _plain_losses(plain, data, 0.002, tmp_path / "start")

    assert len(set(found)) == STEPS
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def _job(build: Builder, shape: tuple[int, ...]) -> Any:
    images_def = flow.FixedTensorDef((BATCH, *shape))
    labels_def = flow.FixedTensorDef((BATCH,), flow.int32)

    @flow.function
    def train(images: Any = images_def, labels: Any = labels_def) -> Any:
        flow.config.train.primary_lr(0.002)
        flow.config.train.model_update_conf(
            {
                "momentum_conf": {"beta": 0.9},
                "learning_rate_decay": {"polynomial_conf": {"decay_batches": 8}},
            }
        )
        loss = build(flow.transpose(images, (0, 3, 1, 2)), labels)
        flow.losses.add_loss(loss)
        return loss

    return train


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(
    ("build", "shape"), [(_alexnet, (67, 67, 3)), (_lenet, (28, 28, 1))], ids=["alexnet", "lenet"]
)
def test_training_that_was_saved_and_loaded_goes_on_with_the_same_losses(
    build: Builder,
    shape: tuple[int, ...],
    devices: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Momentum and the schedule go on too: they are in the checkpoint."""
    session.default().settings.values["gpu_device_num"] = devices
    data = _data(9, 6, shape)
    train, point = _job(build, shape), flow.train.CheckPoint()
    point.init()
    for batch in data[:3]:
        train(*batch).get()
    point.save(str(tmp_path / "saved"))
    wanted = [train(*batch).get().tolist() for batch in data[3:]]

    flow.clear_default_session()
    # Jobs with FixedTensorDef are of 2020, when a session owned its number of devices.
    session.default().settings.values["gpu_device_num"] = devices
    train = _job(build, shape)
    flow.train.CheckPoint().load(str(tmp_path / "saved"))
    found = [train(*batch).get().tolist() for batch in data[3:]]

    assert found == wanted
    assert len({loss for losses in found for loss in losses}) == 3 * BATCH
