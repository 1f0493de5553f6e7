"""Small functions of the modules of Keras 2 that tf_keras has under no name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf


def as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator without effect, such as `K.symbolic` and `K.eager`: one mode is all there is."""
    return function


def unpack_singleton(x: Any) -> Any:
    """Returns the element of a list of one element; another list, or value, as it is."""
    return x[0] if isinstance(x, list | tuple) and len(x) == 1 else x


def object_list_uid(object_list: Any) -> str:
    """Returns a text that two lists share only if they hold the same objects."""
    listed = object_list if isinstance(object_list, list | tuple) else [object_list]
    return ", ".join(str(abs(id(one))) for one in listed)


def transpose_shape(shape: Any, target_format: str, spatial_axes: Any) -> Any:
    """Returns a shape or list in the order of axes of `target_format`.

    Args:
        shape: [*others, *space, channels], such as [batch, height, width, channels].
        target_format: "channels_first" or "channels_last".
        spatial_axes: the places of the axes of space.

    Raises:
        ValueError: another format.
    """
    if target_format == "channels_last":
        return shape
    if target_format != "channels_first":
        raise ValueError(
            f"transpose_shape: target_format is {target_format!r}; it must be 'channels_first' or"
            " 'channels_last'."
        )
    others = shape[: spatial_axes[0]]
    moved = [*others, shape[-1], *(shape[axis] for axis in spatial_axes)]
    return tuple(moved) if isinstance(shape, tuple) else moved


def clip_norm(g: Any, c: float, n: Any) -> Any:
    """Returns the gradient `g` scaled to the norm `c` if its group's norm `n` is larger."""
    if c <= 0:
        return g
    return tf.cond(tf.greater_equal(n, c), lambda: g * c / n, lambda: g)


def generate_dropout_mask(ones: Any, rate: float, training: Any = None, count: int = 1) -> Any:
    """Returns `ones` after dropout in training, or a list of `count` such tensors."""
    from tf_keras import backend as K

    def dropped() -> Any:
        return K.dropout(ones, rate)

    masks = [K.in_train_phase(dropped, ones, training=training) for _ in range(count)]
    return masks if count > 1 else masks[0]


def slice_tensor(x: Any, start: Any, size: Any) -> Any:
    """`K.slice`: `size` elements of each axis of `x`, from `start` on."""
    return tf.slice(x, start, size)


def size(x: Any, name: str | None = None) -> Any:
    """`K.size`: the number of elements of a tensor."""
    return tf.size(x, name=name)


def is_variable(x: Any) -> bool:
    """`K.is_variable`."""
    return isinstance(x, tf.compat.v2.Variable)  # The class of both kinds of variables.


def list_pictures(directory: str, ext: Any = "jpg|jpeg|bmp|png|ppm") -> list[str]:
    """Returns the paths of all pictures in a folder and its subfolders."""
    ends = ext if isinstance(ext, str) else "|".join(name.lstrip(".") for name in ext)
    picture = re.compile(rf".+\.(?:{ends})$")
    return [
        os.path.join(root, name)
        for root, _, files in os.walk(directory)
        for name in files
        if picture.match(name.lower())
    ]


def keras_modules_injection(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of `keras.applications` that handed Keras to the package keras_applications."""

    def call(*args: Any, **kwargs: Any) -> Any:
        import tf_keras

        for name in ("backend", "layers", "models", "utils"):
            kwargs.setdefault(name, getattr(tf_keras, name))
        return function(*args, **kwargs)

    return call


def arguments_as_they_are(
    args: Any, kwargs: Mapping[str, Any]
) -> tuple[Any, Mapping[str, Any], list[Any]]:
    """A preprocessor of `keras.legacy.interfaces`: the layers convert arguments themselves."""
    return args, kwargs, []
