"""Every structure builds in every mode, layout and precision, with the same variables."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets import get_model_fn
from moxing.tensorflow.nets.families import vgg
from moxing.tensorflow.nets.families.inception import inception_resnet_v2, inception_v4
from moxing.tensorflow.nets.registry import NETWORKS

Build = Callable[..., tuple[tf.Tensor, dict[str, tf.Tensor]]]
Graphs = Callable[[], AbstractContextManager[tf.Graph]]
# One cheap network of each family, at sizes that are legal and small.
FAMILIES = {
    "alexnet_v2": 224,
    "cifarnet": 32,
    "inception_v1": 64,
    "lenet": 28,
    "mobilenet_v1_025": 64,
    "mobilenet_v2_035": 64,
    "pvanet": 64,
    "resnet_v1_18": 64,
    "resnet_v1_20": 32,
    "resnet_v2_50": 64,
    "resnext_c_50": 64,
    "vgg_a_bn": 224,
    "xception_41": 64,
}
# The others train in float16 only, which is the same graph and casts of the variables of float32.
IN_FLOAT32 = ("cifarnet", "lenet", "resnet_v1_20")
# Their variables are compared in TRAIN and EXPORT only, with those of every structure.
HEAVY = {"vgg_a_bn", "resnext_c_50", "xception_41", "resnet_v2_50", "pvanet", "alexnet_v2"}

# Only deeper or wider than a network of their family: test_registry builds each of them once.
LARGER = {
    *("resnet_v1_101", "resnet_v1_110", "resnet_v1_152", "resnet_v1_200"),
    *("resnet_v2_101", "resnet_v2_152", "resnet_v2_200", "resnext_b_101", "resnext_c_101"),
    *("nasnet_mobile", "nasnet_large", "pnasnet_large", "xception_65", "xception_71"),
    *("mobilenet_v1", "mobilenet_v1_075", "mobilenet_v1_050", "mobilenet_v2", "mobilenet_v2_140"),
    *("vgg_16", "vgg_19", "vgg_16_bn", "vgg_19_bn"),
}


# Networks with batch norm: one of each kind of layer before it, and each that calls it itself.
RENORMALIZED = {
    *("mobilenet_v2_035", "pvanet", "resnet_v1_18", "resnet_v2_50", "resnext_c_50"),
    *("xception_41", "nasnet_cifar"),
}


@pytest.fixture
def shorten(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Gives a network of many equal cells as few as hold one of each kind."""

    def shorten_network(name: str) -> None:
        network = NETWORKS[name]
        assert isinstance(network.build, partial)
        given, fewer = network.build.keywords, {}
        if "plan" in given:
            fewer["plan"] = replace(given["plan"], cells=3)  # Two reductions need three.
        if "middle_units" in given:
            fewer["middle_units"] = 1
        if isinstance(given.get("units"), tuple):
            fewer["units"] = (2,) * len(given["units"])  # One changes the size, one does not.
        short = replace(network, build=partial(network.build, **fewer))
        monkeypatch.setitem(NETWORKS, name, short)

    repeat, blocks = inception_resnet_v2._repeat, inception_v4._BLOCKS
    monkeypatch.setattr(
        inception_resnet_v2,
        "_repeat",
        lambda style, net, count, *rest, **more: repeat(style, net, 1, *rest, **more),
    )
    last = {id(branches): block for block, branches in blocks.items()}
    single = {block: kind for block, kind in blocks.items() if last[id(kind)] == block}
    monkeypatch.setattr(inception_v4, "_BLOCKS", single)
    layer = vgg.conv2d
    monkeypatch.setattr(
        vgg,
        "conv2d",
        lambda style, net, depth, *rest, **more: layer(
            style, net, depth if more.get("linear") else depth // 16, *rest, **more
        ),
    )
    return shorten_network


def _shapes() -> dict[str, list[int]]:
    return {v.op.name: v.shape.as_list() for v in tf.global_variables()}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NETWORKS if name not in LARGER])
def test_every_structure_in_half_precision_and_nchw(
    name: str,
    build: Build,
    float32_getter: Callable[..., Any],
    shorten: Callable[[str], None],
    without_initializers: Graphs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Batch renorm too, of one network of each family: it doubles the operations of a graph."""
    shorten(name)
    with without_initializers():
        logits, points = build(name, "EXPORT", num_classes=6, weight_decay=1e-4)
        assert logits.shape.as_list() == [2, 6]
        assert all(isinstance(point, tf.Tensor) for point in points.values())
        exported = _shapes()

    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [kind])
    with without_initializers(), tf.variable_scope("", custom_getter=float32_getter):
        logits, _ = build(
            name,
            "TRAIN",
            num_classes=6,
            weight_decay=1e-4,
            data_format="NCHW",
            batch_renorm=name in RENORMALIZED,
            dtype=tf.float16,
        )
        assert logits.shape.as_list() == [2, 6]
        assert logits.dtype == tf.float16
        stored = [v for v in tf.global_variables() if v.op.name != "global_step"]
        assert {v.dtype.base_dtype for v in stored} == {tf.float32}
        assert {loss.dtype for loss in tf.losses.get_regularization_losses()} == {tf.float32}
        assert exported.items() <= _shapes().items()
        extra = _shapes().keys() - exported.keys() - {"global_step"}
        assert any("/renorm_" in key for key in extra) == (name in RENORMALIZED)
        assert all(
            "aux_" in key.lower() or "/renorm_" in key or "AuxLogits" in key for key in extra
        )


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in HEAVY])
def test_all_modes_have_the_same_variables(
    name: str, build: Build, without_initializers: Graphs
) -> None:
    shapes = []
    for mode in ("TRAIN", "EVAL", "PREDICT", "EXPORT"):
        with without_initializers():
            logits, _ = build(name, mode, size=FAMILIES[name], num_classes=6)
            assert logits.shape.as_list() == [2, 6]
            shapes.append(_shapes())
            updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
            assert len(updates) == (sum("/moving_" in key for key in shapes[0]) * (mode == "TRAIN"))
    assert shapes[0] == shapes[1] == shapes[2] == shapes[3]


@pytest.mark.parametrize(
    ("dtype", "name", "size"),
    [
        pytest.param(dtype, name, size, marks=pytest.mark.slow if name in HEAVY else ())
        for dtype in (tf.float32, tf.float16)
        for name, size in FAMILIES.items()
        if dtype == tf.float16 or name in IN_FLOAT32
    ],
)
def test_every_family_trains(
    name: str,
    size: int,
    dtype: tf.DType,
    float32_getter: Callable[..., Any],
    shorten: Callable[[str], None],
    graph: tf.Graph,
) -> None:
    shorten(name)
    channels = 1 if name == "lenet" else 3
    pixels = np.random.default_rng(0).uniform(0, 255, (2, size, size, channels))
    with tf.variable_scope("", custom_getter=float32_getter):
        fn = get_model_fn(name, "TRAIN", 4, weight_decay=1e-4)
        logits, _ = fn(tf.cast(tf.constant(pixels, tf.float32), dtype))
    assert logits.dtype == dtype
    loss = tf.losses.sparse_softmax_cross_entropy([0, 1], tf.cast(logits, tf.float32))
    loss += tf.add_n(tf.losses.get_regularization_losses())
    variables = tf.trainable_variables()
    grads = tf.gradients(loss, variables)
    assert None not in grads
    config = tf.ConfigProto()  # A graph that runs once is not worth the time of a rewrite.
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        value, squares, _ = session.run(
            [
                loss,
                [tf.nn.l2_loss(tf.cast(grad, tf.float32)) for grad in grads],
                tf.get_collection(tf.GraphKeys.UPDATE_OPS),
            ]
        )
    assert np.isfinite(value)
    assert np.isfinite(squares).all()
    assert np.count_nonzero(squares) > 0.9 * len(variables)


def test_half_precision_without_getter_stores_half(build: Build, graph: tf.Graph) -> None:
    build("resnet_v1_20", "TRAIN", dtype=tf.float16, weight_decay=1e-4)
    kinds = {v.op.name.split("/")[-1]: v.dtype.base_dtype for v in tf.global_variables()}
    assert kinds["weights"] == kinds["biases"] == tf.float16
    assert kinds["gamma"] == kinds["moving_mean"] == tf.float32
    assert {loss.dtype for loss in tf.losses.get_regularization_losses()} == {tf.float16}


@pytest.mark.parametrize("mode", ["TRAIN", "EVAL"])
def test_resnext_groups_are_separate_paths(mode: str, graph: tf.Graph) -> None:
    """Figure 3(b) of arXiv:1611.05431: path i reads channels 4i to 4i + 3 of conv1 only."""
    images = tf.random_normal([2, 32, 32, 3])
    _, points = get_model_fn("resnext_b_50", mode, 5, preprocess_fn=None)(images)
    unit = "resnext_b_50/block1/unit_1/bottleneck_v1"
    before, after = points[f"{unit}/conv1"], points[f"{unit}/conv2"]
    kernels = next(v for v in tf.global_variables() if v.op.name == f"{unit}/conv2/weights")
    channels = [before[:, :, :, i : i + 4] for i in range(0, 128, 4)]
    paths = [
        tf.nn.conv2d(part, kernels[:, :, :, 4 * i : 4 * i + 4], 1, "SAME")
        for i, part in enumerate(channels)
    ]
    net = tf.concat(paths, axis=3)
    mean, variance = tf.nn.moments(net, [0, 1, 2]) if mode == "TRAIN" else (0.0, 1.0)
    expected = tf.nn.relu((net - mean) / tf.sqrt(variance + 1e-5))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        ours, theirs = session.run([after, expected])
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3)
