"""Arguments of get_model_fn: what they do, and what is said when they can't."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError
from moxing.tensorflow.nets import get_model_fn

Build = Callable[..., tuple[tf.Tensor, dict[str, tf.Tensor]]]
Graphs = Callable[[], AbstractContextManager[tf.Graph]]
SMALL = "resnet_v1_20"


def _images(*shape: int | None, dtype: tf.DType = tf.float32) -> tf.Tensor:
    return tf.placeholder(dtype, list(shape))


def _value(tensor: tf.Tensor, feed: dict[tf.Tensor, Any] | None = None) -> np.ndarray:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensor, feed)


@pytest.mark.parametrize("mode", ["PREDICT", "EXPORT"])
def test_pitfall_4_1_1_falls_back_to_the_default_size(
    mode: str, graph: tf.Graph, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "tensorflow"):
        _, points = get_model_fn("resnet_v1_50", mode, 10)(_images(None, None, None, 3))
    assert points["resnet_v1_50/conv1"].shape.as_list() == [None, 112, 112, 64]
    assert [record.getMessage() for record in caplog.records] == [
        f"`image_height` and `image_width` are not given to `mox.get_model_fn` in {mode} mode: "
        "using 224x224, the default size of resnet_v1_50"
    ]


@pytest.mark.parametrize("mode", ["PREDICT", "EXPORT"])
def test_pitfall_4_1_1_keeps_a_size_that_is_known(
    mode: str, graph: tf.Graph, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "tensorflow"):
        _, points = get_model_fn(SMALL, mode, 10)(_images(2, 24, 20, 3))
    assert points[f"{SMALL}/conv1"].shape.as_list() == [2, 24, 20, 16]
    assert caplog.messages == [
        f"`image_height` and `image_width` are not given to `mox.get_model_fn` in {mode} mode: "
        "using 24x20, the size of the images"
    ]


@pytest.mark.parametrize(
    ("mode", "size"),
    [("TRAIN", (8, 8)), ("EVAL", (8, 8)), ("PREDICT", (16, 24)), ("EXPORT", (16, 24))],
)
def test_size_is_for_predictions(mode: str, size: tuple[int, int], graph: tf.Graph) -> None:
    seen: list[tf.Tensor] = []

    def look(images: tf.Tensor, run_mode: str) -> tf.Tensor:
        assert run_mode == mode
        seen.append(images)
        return images

    fn = get_model_fn(SMALL, mode, 10, image_height=16, image_width=24, preprocess_fn=look)
    fn(tf.constant(np.full((1, 8, 8, 3), 7, np.uint8)))
    assert seen[0].dtype == tf.float32
    np.testing.assert_array_equal(_value(seen[0]), np.full((1, *size, 3), 7.0))


def test_train_takes_images_of_unknown_size(graph: tf.Graph) -> None:
    images = _images(None, None, None, 3)
    logits, points = get_model_fn("resnet_v1_18", "TRAIN", 5)(images)
    assert logits.shape.as_list() == [None, 5]
    value = _value(logits, {images: np.zeros((2, 40, 36, 3))})
    assert value.shape == (2, 5)
    assert points["predictions"].shape.as_list() == [None, 5]


def test_dense_network_of_unknown_size_says_what_to_do(graph: tf.Graph) -> None:
    with pytest.raises(MoxValueError, match="the dense layer after 'CifarNet/pool2:0' needs"):
        get_model_fn("cifarnet", "TRAIN", 5, preprocess_fn=None)(_images(2, None, None, 3))
    with pytest.raises(MoxValueError, match="the NASNet family needs images of a known size"):
        get_model_fn("nasnet_cifar", "TRAIN", 5, preprocess_fn=None)(_images(2, None, None, 3))


def test_images_that_are_too_small_are_named(graph: tf.Graph) -> None:
    with pytest.raises(MoxValueError) as caught:
        get_model_fn("alexnet_v2", "TRAIN", 5)(_images(2, 64, 48, 3))
    assert str(caught.value) == (
        "images of 64x48 pixels are too small for alexnet_v2, whose usual size is 224x224; make "
        "them larger, for example with tf.image.resize(images, [224, 224])"
    )


def test_larger_images_give_one_row_of_logits(build: Build, graph: tf.Graph) -> None:
    assert build("alexnet_v2", "EVAL", size=300)[0].shape.as_list() == [2, 1000]


@pytest.mark.parametrize(
    ("shape", "dtype", "error", "text"),
    [
        ((24, 24, 3), tf.float32, MoxValueError, "not [24, 24, 3]; batch the images"),
        ((2, 24, 24, None), tf.float32, MoxValueError, "with a known number of channels"),
        ((2, 24, 24, 3), tf.float64, MoxTypeError, "not float64; convert them with tf.cast"),
        ((2, 24, 24, 1), tf.float32, MoxValueError, "its images have 1 channels"),
    ],
)
def test_unusable_images_are_explained(
    shape: tuple[int, ...], dtype: tf.DType, error: type[Exception], text: str, graph: tf.Graph
) -> None:
    with pytest.raises(error) as caught:
        get_model_fn("resnet_v1_18", "TRAIN", 5)(_images(*shape, dtype=dtype))
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (
            {"run_mode": "train"},
            MoxValueError,
            "run_mode is 'train', but must be one of 'TRAIN', 'EVAL', 'PREDICT', 'EXPORT'",
        ),
        (
            {"data_format": "CHWN"},
            MoxValueError,
            "data_format is 'CHWN', but must be one of 'NHWC', 'NCHW'",
        ),
        (
            {"num_classes": 0},
            MoxValueError,
            "num_classes is 0, but must be a whole number above 0",
        ),
        (
            {"num_classes": None},
            MoxValueError,
            "num_classes is None, but must be a whole number above 0",
        ),
        (
            {"weight_decay": -0.1},
            MoxValueError,
            "weight_decay is -0.1, but must not be negative",
        ),
        (
            {"image_height": 32},
            MoxValueError,
            "image_height is 32 and image_width is None: give both or neither to mox.get_model_fn",
        ),
        (
            {"dropout_keep_prob": 0.5},
            MoxTypeError,
            "resnet_v1_20 has no option 'dropout_keep_prob'. Its options are: none",
        ),
        (
            {"name": "inception_v3", "create_aux_logit": False},
            MoxTypeError,
            "inception_v3 has no option 'create_aux_logit'. Did you mean 'create_aux_logits'? "
            "Its options are: dropout_keep_prob, create_aux_logits",
        ),
    ],
)
def test_bad_arguments_are_explained(
    arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    usual = {"name": SMALL, "run_mode": "TRAIN", "num_classes": 10}
    with pytest.raises(error) as caught:
        get_model_fn(**{**usual, **arguments})
    assert str(caught.value) == text


def test_nchw_without_gpu_is_nhwc_with_one_warning(
    graph: tf.Graph, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "tensorflow"):
        for scope in ("a", "b"):
            with tf.variable_scope(scope):
                fn = get_model_fn(SMALL, "TRAIN", 10, data_format="NCHW")
                logits, points = fn(_images(2, 32, 32, 3))
    assert caplog.messages == [
        "data_format='NCHW' needs a GPU and there is none: the network is built as NHWC, with "
        "the same variables and results"
    ]
    assert points[f"b/{SMALL}/conv1"].shape.as_list() == [2, 32, 32, 16]
    assert logits.shape.as_list() == [2, 10]


def test_nchw_with_gpu_has_the_same_variables_and_logits(
    monkeypatch: pytest.MonkeyPatch, load_random: Callable[[tf.Session], None]
) -> None:
    images = np.random.default_rng(0).uniform(0, 255, (2, 32, 32, 3)).astype(np.float32)
    results = []
    # The session of a CPU turns the layout back; with oneDNN alone it would not have to.
    config = tf.ConfigProto()
    rewriter = config.graph_options.rewrite_options
    rewriter.cpu_layout_conversion = rewriter.NCHW_TO_NHWC
    for layout in ("NHWC", "NCHW"):
        monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [kind])
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            logits, points = get_model_fn("resnet_v1_18", "EVAL", 10, data_format=layout)(images)
            shape = points["resnet_v1_18/conv1"].shape.as_list()
            assert shape == ([2, 16, 16, 64] if layout == "NHWC" else [2, 64, 16, 16])
            load_random(session)
            results.append(session.run(logits))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-3, atol=1e-4)


def test_export_is_nhwc_even_with_a_gpu(
    monkeypatch: pytest.MonkeyPatch, build: Build, graph: tf.Graph
) -> None:
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [kind])
    _, points = build(SMALL, "EXPORT", data_format="NCHW")
    assert points[f"{SMALL}/conv1"].shape.as_list() == [2, 32, 32, 16]


@pytest.mark.parametrize("transposes", [False, True])
def test_preprocess_fn_may_transpose_under_nchw(transposes: bool, graph: tf.Graph) -> None:
    def preprocess(images: tf.Tensor, run_mode: str, *args: Any) -> tf.Tensor:
        assert not args
        images = images / 255.0
        return tf.transpose(images, (0, 3, 1, 2)) if transposes else images

    fn = get_model_fn(SMALL, "TRAIN", 10, data_format="NCHW", preprocess_fn=preprocess)
    _, points = fn(_images(2, None, None, 3))
    assert points[f"{SMALL}/conv1"].shape.as_list() == [2, None, None, 16]


def test_weight_decay_is_half_the_sum_of_squares_once(build: Build, graph: tf.Graph) -> None:
    build(SMALL, "TRAIN", weight_decay=0.01)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        build(SMALL, "TRAIN", weight_decay=0.01)
    losses = tf.losses.get_regularization_losses()
    weights = [v for v in tf.trainable_variables() if v.op.name.endswith("/weights")]
    assert len(losses) == len(weights) == 20
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        total, values = session.run([tf.add_n(losses), weights])
    np.testing.assert_allclose(total, 0.005 * sum((w**2).sum() for w in values), rtol=1e-5)


def test_no_weight_decay_adds_no_losses(build: Build, graph: tf.Graph) -> None:
    build(SMALL, "TRAIN")
    assert tf.losses.get_regularization_losses() == []


def test_batch_norm_fused_changes_nothing(build: Build) -> None:
    graphs = []
    for fused in (False, True):
        with tf.Graph().as_default() as graph:
            build(SMALL, "TRAIN", batch_norm_fused=fused)
            graphs.append(graph.as_graph_def())
    assert graphs[0] == graphs[1]


def test_batch_renorm_trains_and_evaluates(build: Build) -> None:
    with tf.Graph().as_default():
        build(SMALL, "TRAIN", batch_renorm=True)
        trained = {v.op.name for v in tf.global_variables()}
    with tf.Graph().as_default():
        build(SMALL, "EVAL", batch_renorm=True)
        evaluated = {v.op.name for v in tf.global_variables()}
    assert f"{SMALL}/conv1/BatchNorm/renorm_stddev" in trained
    assert evaluated < trained


def test_aux_logits_only_while_training(build: Build, without_initializers: Graphs) -> None:
    for mode, options, there in [
        ("TRAIN", {}, True),
        ("TRAIN", {"create_aux_logits": False}, False),
        ("EVAL", {}, False),
    ]:
        with without_initializers():
            _, points = build("inception_v3", mode, num_classes=5, **options)
            assert ("AuxLogits" in points) is there
            if there:
                assert points["AuxLogits"].shape.as_list() == [2, 5]


def test_dropout_is_random_only_while_training(graph: tf.Graph) -> None:
    images = tf.constant(np.random.default_rng(0).uniform(0, 255, (1, 28, 28, 1)).astype("f"))
    train, _ = get_model_fn("lenet", "TRAIN", 10)(images)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        kept, _ = get_model_fn("lenet", "TRAIN", 10, dropout_keep_prob=1.0)(images)
        evaluated, _ = get_model_fn("lenet", "EVAL", 10)(images)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        runs = [session.run([train, kept, evaluated]) for _ in range(2)]
    assert not np.array_equal(runs[0][0], runs[1][0])
    np.testing.assert_array_equal(runs[0][2], runs[1][2])
    np.testing.assert_allclose(runs[0][1], runs[0][2], rtol=1e-6)
