"""Makes tf_keras accept the argument names of Keras 1, which Keras 2 still accepted.

The table maps each argument of Keras 1 to its new name, as Keras 2's own conversion does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from moxing.errors import MoxTypeError

_COMMON = {
    "W_regularizer": "kernel_regularizer",
    "b_regularizer": "bias_regularizer",
    "W_constraint": "kernel_constraint",
    "b_constraint": "bias_constraint",
    "init": "kernel_initializer",
    "bias": "use_bias",
}
_AREA = {"border_mode": "padding", "dim_ordering": "data_format"}
_CONV = {**_COMMON, **_AREA, "nb_filter": "filters", "atrous_rate": "dilation_rate"}
_CONV1D = {**_CONV, "filter_length": "kernel_size", "subsample_length": "strides"}
_CONV2D = {**_CONV, "subsample": "strides", "nb_row": "", "nb_col": "", "output_shape": ""}
_CONV3D = {
    **_CONV,
    "subsample": "strides",
    "kernel_dim1": "",
    "kernel_dim2": "",
    "kernel_dim3": "",
}
_RECURRENT = {
    **_COMMON,
    "output_dim": "units",
    "inner_init": "recurrent_initializer",
    "inner_activation": "recurrent_activation",
    "U_regularizer": "recurrent_regularizer",
    "dropout_W": "dropout",
    "dropout_U": "recurrent_dropout",
    "consume_less": "",
    "forget_bias_init": "",
}
_POOL1D = {"pool_length": "pool_size", "stride": "strides", **_AREA}
_NORM = {
    "beta_init": "beta_initializer",
    "gamma_init": "gamma_initializer",
    "mode": "",
}
_EMBEDDING = {
    "init": "embeddings_initializer",
    "W_regularizer": "embeddings_regularizer",
    "W_constraint": "embeddings_constraint",
    "dropout": "",
}
_RATE = {"p": "rate"}
# Class of tf_keras.layers -> argument of Keras 1 -> argument of Keras 2; "" for an argument that is
# converted together with other arguments, or that has no effect any more.
TABLE: dict[str, Mapping[str, str]] = {
    "Dense": {**_COMMON, "output_dim": "units"},
    "Dropout": _RATE,
    "SpatialDropout1D": _RATE,
    "SpatialDropout2D": {**_RATE, **_AREA},
    "SpatialDropout3D": {**_RATE, **_AREA},
    "GaussianDropout": _RATE,
    "GaussianNoise": {"sigma": "stddev"},
    "Conv1D": _CONV1D,
    "Conv2D": _CONV2D,
    "Conv2DTranspose": _CONV2D,
    "SeparableConv2D": {**_CONV2D, "depthwise_init": "depthwise_initializer"},
    "Conv3D": _CONV3D,
    "SimpleRNN": _RECURRENT,
    "GRU": _RECURRENT,
    "LSTM": _RECURRENT,
    "MaxPooling1D": _POOL1D,
    "AveragePooling1D": _POOL1D,
    "MaxPooling2D": _AREA,
    "AveragePooling2D": _AREA,
    "MaxPooling3D": _AREA,
    "AveragePooling3D": _AREA,
    "GlobalMaxPooling2D": _AREA,
    "GlobalAveragePooling2D": _AREA,
    "UpSampling1D": {"length": "size"},
    "UpSampling2D": _AREA,
    "UpSampling3D": _AREA,
    "ZeroPadding2D": _AREA,
    "ZeroPadding3D": _AREA,
    "Cropping2D": _AREA,
    "Cropping3D": _AREA,
    "BatchNormalization": _NORM,
    "Embedding": _EMBEDDING,
    "PReLU": {"init": "alpha_initializer"},
}
_SIZES = {"Conv2D": 2, "Conv2DTranspose": 2, "SeparableConv2D": 2, "Conv3D": 3}
_FORMATS = {"th": "channels_first", "tf": "channels_last", "default": None}
_PARTS = {2: ("nb_row", "nb_col"), 3: ("kernel_dim1", "kernel_dim2", "kernel_dim3")}


_bare: list[bool] = []  # Not empty once the program has imported `keras` itself.


def serve_bare() -> None:
    """From now on the layers' places are also those of Keras 1, which `keras` took."""
    _bare.append(True)


def install(layers: Any) -> None:
    """Makes tf_keras' layers accept arguments of Keras 1 too, from now on.

    Args:
        layers: the module of the layers.
    """
    for name, table in TABLE.items():
        kind = getattr(layers, name)
        # The newer LSTM and BatchNormalization derive from the classes of TensorFlow 1.x.
        for each in {k for k in kind.__mro__ if k.__name__ in (name, f"{name}V1", f"{name}Base")}:
            _accept(each, name, table)


def _accept(kind: type, name: str, table: Mapping[str, str]) -> None:
    original = kind.__dict__.get("__init__")
    if original is None or getattr(original, "takes_old_names", False):
        return

    @functools.wraps(original)
    def __init__(self: Any, *given: Any, **named: Any) -> None:
        given, named = converted(name, table, given, named, bool(_bare))
        original(self, *given, **named)

    __init__.takes_old_names = True  # type: ignore[attr-defined]
    kind.__init__ = __init__  # type: ignore[misc]


def converted(
    name: str,
    table: Mapping[str, str],
    given: tuple[Any, ...],
    named: Mapping[str, Any],
    bare: bool = True,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments of a layer by their names in Keras 2.

    Args:
        name: the name of the layer's class.
        table: the class's part of `TABLE`.
        given, named: the positional and the keyword arguments of the program's call.
        bare: whether the program imports `keras`; `tf.keras` never took Keras 1's places.

    Raises:
        MoxTypeError: an argument is given by both its names.
    """
    found = dict(named)
    size = _SIZES.get(name, 0)
    if size:
        given = _sizes(given, found, size, bare)
    for old in [key for key in found if key in table]:
        value, new = found.pop(old), table[old]
        if old == "dim_ordering":
            value = _FORMATS.get(value, value)
        if old == "forget_bias_init":
            found["unit_forget_bias"] = value in ("one", "ones")
        if new in found:
            raise MoxTypeError(f"{name} has {old}= and {new}=, which are the same; give one.")
        if new:
            found[new] = value
    return given, found


def _sizes(given: tuple[Any, ...], found: dict[str, Any], size: int, bare: bool) -> tuple[Any, ...]:
    """Joins the sides of a kernel, which are separate arguments in Keras 1."""
    parts = _PARTS[size]
    sides = given[1 : 1 + size]
    if bare and len(sides) == size and all(isinstance(value, int) for value in sides):
        # Conv2D(32, 3, 3) is a call of Keras 1; the third argument in Keras 2 is the strides, also
        # where more follows: Conv2D(32, 3, 1, "same"). Keras 1 had the initializer there.
        rest = given[1 + size :]
        if rest and not named_like_keras1(rest):
            return given
        return (given[0], tuple(sides))
    if all(part in found for part in parts):
        found["kernel_size"] = tuple(found.pop(part) for part in parts)
    elif len(given) == 2 and parts[-1] in found:
        return (given[0], (given[1], *(found.pop(part) for part in parts[1:])))
    return given


def named_like_keras1(rest: tuple[Any, ...]) -> bool:
    """Whether only a deconvolution's output_shape, a tuple, follows the sides of a kernel."""
    return len(rest) == 1 and isinstance(rest[0], tuple)


Rename = Callable[[dict[str, Any]], dict[str, Any]]


def rename(table: Mapping[str, str]) -> Rename:
    """Returns a function that renames keyword arguments as in Keras 2."""

    def renamed(named: dict[str, Any]) -> dict[str, Any]:
        return {table.get(key, key): value for key, value in named.items()}

    return renamed
