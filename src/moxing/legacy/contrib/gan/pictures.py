"""The summaries of `tf.contrib.gan.eval`: many images in one, and the numbers of a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError


def image_grid(
    input_tensor: Any,
    grid_shape: Sequence[int],
    image_shape: Sequence[int] = (32, 32),
    num_channels: int = 3,
) -> Any:
    """Returns one image, (1, rows * height, columns * width, channels), of many.

    Args:
        input_tensor: as many images as the grid has places: (images, height, width, channels),
            or (images, height * width * channels).
        grid_shape: (rows, columns).
        image_shape: (height, width) of an image, in pixels.
        num_channels: the number of channels of an image.

    Raises:
        MoxValueError: the number of images isn't that of the grid.
    """
    rows, columns = (int(each) for each in grid_shape)
    if rows * columns != input_tensor.shape[0]:
        raise MoxValueError(
            f"Grid shape {tuple(grid_shape)} incompatible with minibatch size"
            f" {input_tensor.shape[0]}: rows times columns is the number of images."
        )
    height, width = (int(each) for each in image_shape)
    if input_tensor.shape.ndims not in (2, 4):
        raise MoxValueError(
            f"Unrecognized input tensor format: shape {input_tensor.shape} has neither two nor"
            " four dimensions."
        )
    grid = tf.reshape(input_tensor, [rows, columns, height, width, num_channels])
    grid = tf.transpose(grid, [0, 2, 1, 3, 4])
    return tf.reshape(grid, [1, rows * height, columns * width, num_channels])


def image_reshaper(images: Any, num_cols: int | None = None) -> Any:
    """Returns one image, (1, rows * height, columns * width, channels), of many.

    Args:
        images: (images, height, width, channels), or a list of (height, width, channels).
        num_cols: the number of columns; default: about as many as there are rows. Places without
            an image are black.
    """
    if isinstance(images, (list, tuple)):
        images = tf.stack(list(images))
    number = int(images.shape[0])
    columns = num_cols or math.ceil(math.sqrt(number))
    rows = math.ceil(number / columns)
    images = tf.pad(images, [[0, rows * columns - number]] + [[0, 0]] * 3)
    height, width, channels = (int(size) for size in images.shape[1:])
    return image_grid(images, (rows, columns), (height, width), channels)


def add_gan_model_image_summaries(
    gan_model: Any, grid_size: int = 4, model_summaries: bool = True
) -> None:
    """Adds summaries of grid_size * grid_size real and generated images, and of the model.

    Raises:
        MoxValueError: the real and the generated data aren't images of one shape.
    """
    real, generated = gan_model.real_data, gan_model.generated_data
    for data in (real, generated):
        if getattr(data, "shape", None) is None or data.shape.ndims != 4:
            raise MoxValueError(f"Summaries of images take images, not {data}.")
    number = grid_size**2
    for name, data in (("real", real), ("generated", generated)):
        height, width, channels = (int(size) for size in data.shape[1:])
        first = tf.reshape(data[:number], [number, height, width, channels])
        grid = image_grid(first, (grid_size, grid_size), (height, width), channels)
        tf.summary.image(f"{name}_data", grid, max_outputs=1)
    if model_summaries:
        add_gan_model_summaries(gan_model)


def add_image_comparison_summaries(
    gan_model: Any,
    num_comparisons: int = 2,
    display_diffs: bool = False,
) -> None:
    """Adds a summary of inputs of the generator beside what it makes of them.

    Args:
        gan_model: a GANModel whose generator makes images of images.
        num_comparisons: how many pairs the summary shows.
        display_diffs: whether the difference of each pair is shown, too.
    """
    columns = [gan_model.generator_inputs, gan_model.generated_data, gan_model.real_data]
    if display_diffs:
        columns.append(tf.abs(gan_model.generated_data - gan_model.real_data))
    images = [each for row in range(num_comparisons) for each in (one[row] for one in columns)]
    grid = image_reshaper(images, num_cols=len(columns))
    tf.summary.image("image_comparison", grid, max_outputs=1)


def add_gan_model_summaries(gan_model: Any) -> None:
    """Adds histograms of the variables of generator and discriminator, and of their outputs."""
    with tf.name_scope("generator_variables"):
        for variable in gan_model.generator_variables:
            tf.summary.histogram(variable.op.name, variable)
    with tf.name_scope("discriminator_variables"):
        for variable in gan_model.discriminator_variables:
            tf.summary.histogram(variable.op.name, variable)
    tf.summary.histogram("discriminator_gen_outputs", gan_model.discriminator_gen_outputs)
    tf.summary.histogram("discriminator_real_outputs", gan_model.discriminator_real_outputs)


def add_regularization_loss_summaries(gan_model: Any) -> None:
    """Adds the summed regularization losses of generator and discriminator."""
    for name in ("generator", "discriminator"):
        scope = getattr(gan_model, f"{name}_scope").name
        losses = tf.losses.get_regularization_losses(scope)
        if losses:
            tf.summary.scalar(f"{name}_regularization_loss", tf.add_n(losses))
