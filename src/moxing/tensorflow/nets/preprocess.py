"""Subtracts means or scales images inside the model, by network family; values are 0 to 255."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.tensorflow.nets.registry import network_named

# RGB means of ImageNet, from the VGG models and from py-faster-rcnn, which trained PVANET.
_VGG_MEANS = (123.68, 116.78, 103.94)
_PVANET_MEANS = (122.7717, 115.9465, 102.9801)


def default_preprocess_fn(images: tf.Tensor, run_mode: str, name: str) -> tf.Tensor:
    """Applies the preprocessing of network `name` to images [batch, height, width, channels].

    vgg_preprocessing subtracts the RGB means of ImageNet, and pvanet_preprocessing the means of
    py-faster-rcnn. inception_preprocessing maps 0..255 to -1..1, and lenet_preprocessing to
    -1..0.992. cifarnet_preprocessing gives each image mean 0 and variance 1. The preprocessing is
    the same in every mode.
    """
    del run_mode
    return _FAMILIES[network_named(name).preprocessing](images, name)


def _subtract(means: tuple[float, float, float]) -> Callable[[tf.Tensor, str], tf.Tensor]:
    def preprocess(images: tf.Tensor, name: str) -> tf.Tensor:
        if images.shape[3] != len(means):
            raise MoxValueError(
                f"{name} subtracts RGB means, but its images have {images.shape[3]} channels "
                f"(shape {images.shape}); convert them to RGB, for example with "
                "tf.image.grayscale_to_rgb, or pass preprocess_fn=None to mox.get_model_fn"
            )
        return images - tf.constant(means, images.dtype)

    return preprocess


def _scale_to_unit(images: tf.Tensor, name: str) -> tf.Tensor:
    del name
    return images * (2.0 / 255.0) - 1.0


def _scale_around_128(images: tf.Tensor, name: str) -> tf.Tensor:
    del name
    return (images - 128.0) / 128.0


def _standardize(images: tf.Tensor, name: str) -> tf.Tensor:
    del name
    return tf.cast(tf.image.per_image_standardization(tf.cast(images, tf.float32)), images.dtype)


_FAMILIES: dict[str, Callable[[tf.Tensor, str], tf.Tensor]] = {
    "vgg_preprocessing": _subtract(_VGG_MEANS),
    "pvanet_preprocessing": _subtract(_PVANET_MEANS),
    "inception_preprocessing": _scale_to_unit,
    "lenet_preprocessing": _scale_around_128,
    "cifarnet_preprocessing": _standardize,
}
