"""Functions and arguments of Keras 1's and 2's backend that tf_keras' backend lacks."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError, shown

_FORMATS = {"th": "channels_first", "tf": "channels_last"}


def image_dim_ordering() -> str:
    """Returns Keras 1's name for the order of an image's axes: "th" or "tf"."""
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
    """Returns log(sum(exp(x))) over `axis`, without overflow."""
    return tf.reduce_logsumexp(x, axis=axis, keepdims=keepdims)


def relu6(x: Any) -> tf.Tensor:
    """Returns min(max(x, 0), 6): an activation of MobileNet, by whose name models are saved."""
    return tf.nn.relu6(x)


def filled(module: str, name: str) -> Callable[..., Any]:
    """Returns the backend's `ones` or `zeros`, for shapes in loops of a graph too.

    tf_keras makes both outside of every loop, where sizes that are tensors of a loop's body are not
    known; Keras 2 made them where they were asked for.
    """
    from tf_keras import backend

    original = getattr(importlib.import_module(module), name)

    @functools.wraps(original)
    def call(shape: Any, dtype: Any = None, name: Any = None) -> Any:
        sizes = shape if isinstance(shape, tuple | list) else [shape]
        if tf.executing_eagerly() or not any(tf.is_tensor(size) for size in sizes):
            return original(shape, dtype=dtype, name=name)
        make = getattr(tf, original.__name__)
        return make(shape, dtype=dtype or backend.floatx(), name=name)

    return call


def set_session_if_graph(session: Any) -> None:
    """`set_session`, which does nothing in eager mode."""
    from tf_keras.src import backend

    if not tf.executing_eagerly():
        backend.set_session(session)


# Functions of the backend -> argument of Keras 1 -> argument of Keras 2.
_ORDER = {"dim_ordering": "data_format"}
_WINDOW = {**_ORDER, "border_mode": "padding"}
RENAMED: Mapping[str, Mapping[str, str]] = {
    "conv1d": {"border_mode": "padding"},
    "conv2d": _WINDOW,
    "conv3d": _WINDOW,
    "deconv2d": _WINDOW,
    "pool2d": _WINDOW,
    "pool3d": _WINDOW,
    "random_normal": {"std": "stddev"},
    "random_normal_variable": {"std": "stddev"},
    "random_uniform": {"low": "minval", "high": "maxval"},
    "resize_images": {**_ORDER, "X": "x"},
    "resize_volumes": {**_ORDER, "X": "x"},
    "separable_conv2d": _WINDOW,
    "spatial_2d_padding": _ORDER,
    "spatial_3d_padding": _ORDER,
    "truncated_normal": {"std": "stddev"},
}
# Arguments of Keras 1 that told Theano shapes.
_THEANO = ("image_shape", "filter_shape", "volume_shape")
_NEW_NAMES = {"deconv2d": "conv2d_transpose"}


def with_old_arguments(module: str, name: str) -> Callable[..., Any]:
    """Returns a function of the backend that takes the arguments of Keras 1, too.

    Args:
        module: the module that shows the function.
        name: a name in `RENAMED`.
    """
    original = getattr(importlib.import_module(module), _NEW_NAMES.get(name, name))
    table = RENAMED[name]

    @functools.wraps(original)
    def call(*given: Any, **named: Any) -> Any:
        for old, new in table.items():
            if old in named:
                value = named.pop(old)
                named[new] = _FORMATS.get(value, value) if old == "dim_ordering" else value
        for name in _THEANO:
            named.pop(name, None)
        return original(*given, **named)

    return call


def slice_arrays(arrays: Any, start: Any = None, stop: int | None = None) -> Any:
    """Returns a range of samples, or the samples of given indices, of arrays.

    Args:
        arrays: an array, or a list of arrays whose first axis counts samples.
        start: the first sample, or a list of indices.
        stop: the sample after the last.
    """
    if isinstance(arrays, list):
        return [slice_arrays(array, start, stop) for array in arrays]
    if hasattr(start, "__len__"):
        return arrays[list(start)]
    return arrays[start:stop]


def batch_dot(module: str) -> Callable[..., Any]:
    """Returns the `batch_dot` of Keras up to 2.2.4, which multiplies matrices if there are 4 axes.

    Args:
        module: the module that shows the newer function, which agrees for up to 3 axes.
    """
    newer = importlib.import_module(module).batch_dot

    def call(x: Any, y: Any, axes: Any = None) -> Any:
        ranks = x.shape.rank, y.shape.rank
        if max(ranks) < 4:
            return newer(x, y, axes)
        pair = (axes, axes) if isinstance(axes, int) else axes
        more = abs(ranks[0] - ranks[1])
        for _ in range(more):
            x, y = (x, y[..., None]) if ranks[0] > ranks[1] else (x[..., None], y)
        first = second = False
        if pair is not None:
            first = pair[0] != len(x.shape) - 1
            second = pair[1] == len(y.shape) - 1
        out = tf.matmul(x, y, transpose_a=first, transpose_b=second)
        if more:
            start = ranks[0] + ranks[1] - 3 if ranks[0] > ranks[1] else ranks[0] - 1
            out = tf.squeeze(out, list(range(start, start + more)))
        return out

    return call
