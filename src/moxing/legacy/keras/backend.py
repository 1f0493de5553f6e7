"""Functions of Keras 2's backend that tf_keras' no longer has."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError, shown

_FORMATS = {"th": "channels_first", "tf": "channels_last"}


def image_dim_ordering() -> str:
    """Keras 1's name of the order of an image's axes: "th" or "tf"."""
    from tf_keras import backend

    return {new: old for old, new in _FORMATS.items()}[backend.image_data_format()]


def set_image_dim_ordering(dim_ordering: str) -> None:
    """Sets the order of an image's axes: "th" for channels first, "tf" for channels last.

    Raises:
        MoxValueError: another text.
    """
    from tf_keras import backend

    if dim_ordering not in _FORMATS:
        raise MoxValueError(f"dim_ordering is {shown(dim_ordering)}; it must be 'th' or 'tf'.")
    backend.set_image_data_format(_FORMATS[dim_ordering])


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> tf.Tensor:
    """log(sum(exp(x))) over `axis`, without overflow."""
    return tf.reduce_logsumexp(x, axis=axis, keepdims=keepdims)


def set_session_if_graph(session: Any) -> None:
    """`set_session`, which has nothing to do where operations run at once."""
    from tf_keras.src import backend

    if not tf.executing_eagerly():
        backend.set_session(session)
