"""`get_model_fn` and `get_model_meta`: return an image classifier of the zoo by name."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, near_matches
from moxing.logs import TENSORFLOW
from moxing.tensorflow.nets import images as image_ops
from moxing.tensorflow.nets.preprocess import default_preprocess_fn
from moxing.tensorflow.nets.registry import Network, network_named
from moxing.tensorflow.nets.runtime import gpu_present
from moxing.tensorflow.nets.style import Style

_MODES = ("TRAIN", "EVAL", "PREDICT", "EXPORT")
_LAYOUTS = ("NHWC", "NCHW")

ModelFn = Callable[[Any], tuple[tf.Tensor, dict[str, tf.Tensor]]]


class ModelMeta(NamedTuple):
    """The metadata of a network, available before it is built.

    Attributes:
        default_image_size: the height and width in pixels.
        default_labels_offset: 1 if the network was published with 1000 ImageNet classes, so that 1
            must be subtracted from labels that count a background class; else 0.
        default_logits_pattern: a comma-separated list of patterns for the flag
            `checkpoint_exclude_patterns`, which match the classifier and any auxiliary classifiers.
    """

    default_image_size: int
    default_labels_offset: int
    default_logits_pattern: str


def get_model_meta(name: str) -> ModelMeta:
    """Returns the image size, label offset and classifier names of a network.

    Raises:
        MoxValueError: the name is unknown.
        MoxNotSupportedError: the network's structure was never published.
    """
    network = network_named(name)
    return ModelMeta(network.image_size, network.labels_offset, network.logits_pattern)


def get_model_fn(
    name: str,
    run_mode: str,
    num_classes: int,
    weight_decay: float = 0.0,
    data_format: str = "NHWC",
    batch_norm_fused: bool = False,
    batch_renorm: bool = False,
    image_height: int | None = None,
    image_width: int | None = None,
    preprocess_fn: Callable[..., tf.Tensor] | None = default_preprocess_fn,
    **model_kwargs: Any,
) -> ModelFn:
    """Returns a function from a batch of images to `(logits, end_points)`.

    The function takes images of shape [batch, height, width, channels] with values from 0 to 255.
    The logits have the shape [batch, num_classes] and the dtype of the images (float32 for
    integers). The end points are a dict of activations by slim's names, with `AuxLogits` for the
    Inception and NASNet families in TRAIN mode. Variables have slim's names, L2 losses are in
    `REGULARIZATION_LOSSES`, and batch-norm updates are in `UPDATE_OPS`.

    Args:
        name: a constant of `mox.NetworkKeys`.
        run_mode: a constant of `mox.ModeKeys`; TRAIN uses batch statistics and dropout.
        num_classes: the number of classes.
        weight_decay: the L2 coefficient of the weights.
        data_format: "NHWC" or "NCHW", the layout inside the network. In EXPORT mode, and without a
            GPU, NCHW is built as NHWC, which has the same variables.
        batch_norm_fused: not used, accepted for old programs: the fused kernel, which computes the
            same result, is always used.
        batch_renorm: whether to train with batch renormalization (arXiv:1702.03275).
        image_height: the height to which PREDICT and EXPORT mode resize images (bilinear); TRAIN
            and EVAL ignore it.
        image_width: the width, see `image_height`; give both or neither. Without them, PREDICT and
            EXPORT log a warning, and use images at their own size, or at the network's default
            size if theirs is unknown.
        preprocess_fn: a function of `(images, run_mode)` that gets floating-point images; the
            default is the mean subtraction or scaling of the network's family; None: no
            preprocessing.
        **model_kwargs: options of the network: `dropout_keep_prob` if it has dropout, and
            `create_aux_logits` if it has an auxiliary classifier.

    Raises:
        MoxValueError: the name or mode is unknown, or a value is invalid.
        MoxTypeError: the network does not have the option.
        MoxNotSupportedError: the network's structure was never published.
    """
    # Both kernels compute the same values, and the fused one is faster on every device.
    del batch_norm_fused
    network = network_named(name)
    _check_choice("run_mode", run_mode, _MODES)
    _check_choice("data_format", data_format, _LAYOUTS)
    _check_options(name, network, model_kwargs)
    classes = _positive(num_classes, "num_classes")
    if weight_decay < 0.0:
        raise MoxValueError(f"weight_decay is {weight_decay}, but must not be negative")
    size = _given_size(image_height, image_width)
    layout = _layout(data_format, run_mode)

    def model_fn(images: Any) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        style = Style(
            training=run_mode == "TRAIN",
            weight_decay=weight_decay,
            data_format=layout,
            batch_renorm=batch_renorm,
        )
        batch = image_ops.as_batch(images, name)
        batch = _sized(batch, name, network, run_mode, size)
        net, current = _preprocessed(batch, name, run_mode, data_format, preprocess_fn)
        net = image_ops.to_layout(net, current, layout)
        logits = _build(name, network, style, net, classes, model_kwargs)
        return logits, style.end_points

    return model_fn


def _preprocessed(
    batch: tf.Tensor,
    name: str,
    run_mode: str,
    data_format: str,
    preprocess_fn: Callable[..., tf.Tensor] | None,
) -> tuple[tf.Tensor, str]:
    """Returns the preprocessed images and their layout."""
    if preprocess_fn is None:
        return batch, "NHWC"
    if preprocess_fn is default_preprocess_fn:
        return default_preprocess_fn(batch, run_mode, name), "NHWC"
    return image_ops.as_preprocessed(preprocess_fn(batch, run_mode), batch, data_format, name)


def _build(
    name: str,
    network: Network,
    style: Style,
    net: tf.Tensor,
    num_classes: int,
    options: dict[str, Any],
) -> tf.Tensor:
    try:
        return network.build(style, net, num_classes, **options)
    except ValueError as error:
        if "Negative dimension size" not in str(error):
            raise
        height, width = style.size(net)
        raise MoxValueError(
            f"images of {height}x{width} pixels are too small for {name}, whose usual size is "
            f"{network.image_size}x{network.image_size}; make them larger, for example with "
            f"tf.image.resize(images, [{network.image_size}, {network.image_size}])"
        ) from error


def _given_size(height: int | None, width: int | None) -> tuple[int, int] | None:
    if height is not None and width is not None:
        return _positive(height, "image_height"), _positive(width, "image_width")
    if height is not None or width is not None:
        raise MoxValueError(
            f"image_height is {height} and image_width is {width}: give both or neither to "
            "mox.get_model_fn"
        )
    return None


def _sized(
    batch: tf.Tensor,
    name: str,
    network: Network,
    run_mode: str,
    size: tuple[int, int] | None,
) -> tf.Tensor:
    if run_mode in ("TRAIN", "EVAL"):
        return batch
    if size is not None:
        return image_ops.resize(batch, size)
    known = image_ops.static_size(batch)
    used = known or (network.image_size, network.image_size)
    whose = f"the default size of {name}" if known is None else "the size of the images"
    TENSORFLOW.warning(
        "`image_height` and `image_width` are not given to `mox.get_model_fn` in %s mode: "
        "using %dx%d, %s",
        run_mode,
        *used,
        whose,
    )
    return image_ops.resize(batch, used)


def _layout(data_format: str, run_mode: str) -> str:
    """Returns the layout to build: NHWC for exported graphs, which are also served on CPUs."""
    if data_format == "NHWC" or run_mode == "EXPORT":
        return "NHWC"
    if gpu_present():
        return "NCHW"
    graph = tf.get_default_graph()
    # Every replica calls this function, but one warning per graph is enough.
    if not getattr(graph, "_moxing_nchw_warned", False):
        graph._moxing_nchw_warned = True
        TENSORFLOW.warning(
            "data_format='NCHW' needs a GPU and there is none: the network is built as NHWC, "
            "with the same variables and results"
        )
    return "NHWC"


def _check_options(name: str, network: Network, options: dict[str, Any]) -> None:
    parameters = inspect.signature(network.build).parameters.values()
    bound = getattr(network.build, "keywords", {})
    legal = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in bound]
    for option in options:
        if option not in legal:
            raise MoxTypeError(
                f"{name} has no option {option!r}.{near_matches(option, legal)} "
                f"Its options are: {', '.join(legal) or 'none'}"
            )


def _check_choice(argument: str, value: str, legal: tuple[str, ...]) -> None:
    if value not in legal:
        raise MoxValueError(
            f"{argument} is {value!r}, but must be one of {', '.join(map(repr, legal))}"
        )


def _positive(value: int, argument: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise MoxValueError(f"{argument} is {value!r}, but must be a whole number above 0")
    return number
