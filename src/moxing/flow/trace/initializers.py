"""Initializers: frozen descriptions, by which two jobs' definitions of a variable are compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from google.protobuf.message import Message

from moxing.errors import MoxValueError, near_matches, shown


@dataclass(frozen=True)
class Initializer:
    """`kind` with its two numbers: value; minimum and maximum; mean and standard deviation; start
    and stride; or, for variance scaling, the scale. `axis` is the one along which a range grows."""

    kind: str
    a: float = 0
    b: float = 0
    mode: str = ""
    distribution: str = ""
    channels_last: bool = False
    axis: int = -1

    def tensor(self, shape: tuple[int, ...], dtype: tf.DType, seed: int | None) -> tf.Tensor:
        """The first values of a variable."""
        if self.kind == "constant":
            return tf.fill(shape, tf.cast(self.a, dtype))
        if self.kind == "uniform":
            if dtype.is_integer:
                low, high = int(self.a), int(self.b)
                return tf.cast(tf.random.uniform(shape, low, high, tf.int64, seed), dtype)
            return tf.random.uniform(shape, self.a, self.b, dtype, seed)
        if self.kind == "normal":
            return tf.random.normal(shape, self.a, self.b, dtype, seed)
        if self.kind == "truncated":
            return tf.random.truncated_normal(shape, self.a, self.b, dtype, seed)
        if self.kind == "range":
            return self._range(shape, dtype)
        return self._scaled(shape, dtype, seed)

    def _range(self, shape: tuple[int, ...], dtype: tf.DType) -> tf.Tensor:
        if not -len(shape) <= self.axis < len(shape):
            raise MoxValueError(
                f"range_conf: a variable of the shape {shape} has no axis {self.axis}."
            )
        axis = self.axis % len(shape)
        line = self.a + self.b * np.arange(shape[axis])
        spread = line.reshape([-1 if number == axis else 1 for number in range(len(shape))])
        return tf.constant(np.broadcast_to(spread, shape), dtype)

    def _scaled(self, shape: tuple[int, ...], dtype: tf.DType, seed: int | None) -> tf.Tensor:
        fan_in = math.prod(shape[1:])
        spatial = shape[1:-1] if self.channels_last else shape[2:]
        fan_out = shape[0] * math.prod(spatial)
        size = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.a / max(1.0, size)
        if self.distribution == "random_uniform":
            limit = math.sqrt(3 * variance)
            return tf.random.uniform(shape, -limit, limit, dtype, seed)
        if self.distribution == "random_normal":
            return tf.random.normal(shape, 0, math.sqrt(variance), dtype, seed)
        # The standard deviation of a normal distribution truncated at two standard deviations.
        deviation = math.sqrt(variance) / 0.87962566103423978
        return tf.random.truncated_normal(shape, 0, deviation, dtype, seed)


def constant_initializer(value: float = 0, dtype: Any = tf.float32) -> Initializer:
    """All elements are `value`."""
    del dtype
    return Initializer("constant", value)


def zeros_initializer(dtype: Any = tf.float32) -> Initializer:
    """All elements are 0."""
    return constant_initializer(0, dtype)


def ones_initializer(dtype: Any = tf.float32) -> Initializer:
    """All elements are 1."""
    return constant_initializer(1, dtype)


def random_uniform_initializer(
    minval: float = 0, maxval: float = 1, dtype: Any = tf.float32
) -> Initializer:
    """Uniform in [minval, maxval)."""
    del dtype
    return Initializer("uniform", minval, maxval)


def random_normal_initializer(
    mean: float = 0.0, stddev: float = 1.0, seed: None = None, dtype: Any = None
) -> Initializer:
    """Normal; `seed` and `dtype` are set on the variable, not here.

    Raises:
        MoxValueError: `seed` or `dtype` is given.
    """
    if seed is not None or dtype is not None:
        raise MoxValueError(
            "random_normal_initializer takes no seed and no dtype; give random_seed= and dtype= to"
            " flow.get_variable."
        )
    return Initializer("normal", mean, stddev)


def truncated_normal_initializer(mean: float = 0.0, stddev: float = 1.0) -> Initializer:
    """Normal, drawn again beyond two standard deviations."""
    return Initializer("truncated", mean, stddev)


def truncated_normal(stddev: float = 1.0) -> Initializer:
    """The same with mean 0, under its old name."""
    return truncated_normal_initializer(0.0, stddev)


def variance_scaling_initializer(
    scale: float = 1.0,
    mode: str = "fan_in",
    distribution: str = "truncated_normal",
    data_format: str = "",
) -> Initializer:
    """Variance `scale / fan`, where `fan` is fan_in, fan_out or fan_avg.

    Raises:
        MoxValueError: unknown mode or distribution.
    """
    _one_of("mode", mode, ("fan_in", "fan_out", "fan_avg"))
    kinds = ("truncated_normal", "random_normal", "random_uniform")
    _one_of("distribution", distribution, kinds)
    last = data_format in ("NHWC", "channels_last")
    return Initializer("scaled", scale, 0, mode, distribution, last)


def glorot_uniform_initializer(data_format: str = "") -> Initializer:
    """Uniform with variance `2 / (fan_in + fan_out)` (Glorot and Bengio, 2010)."""
    return variance_scaling_initializer(1.0, "fan_avg", "random_uniform", data_format)


xavier_uniform_initializer = glorot_uniform_initializer


def glorot_normal_initializer(data_format: str = "") -> Initializer:
    """Normal with variance `2 / (fan_in + fan_out)`."""
    return variance_scaling_initializer(1.0, "fan_avg", "random_normal", data_format)


xavier_normal_initializer = glorot_normal_initializer


def kaiming_initializer(
    shape: Sequence[int],
    distribution: str = "random_normal",
    mode: str = "fan_in",
    nonlinearity: str | None = "leaky_relu",
    negative_slope: float = 0.0,
    data_format: str = "NCHW",
) -> Initializer:
    """Variance `gain^2 / fan` (He et al., 2015); gain depends on the nonlinearity that follows.

    Args:
        shape: the shape of the variable.
        distribution: "random_normal" or "random_uniform".
        mode: "fan_in", "fan_out" or "fan_avg".
        nonlinearity: None, "sigmoid", "tanh", "relu" or "leaky_relu".
        negative_slope: the slope of leaky_relu below 0.
        data_format: "NCHW" or "NHWC": where the channels of `shape` are.

    Raises:
        MoxValueError: an argument has another value.
    """
    _one_of("distribution", distribution, ("random_normal", "random_uniform"))
    gains = {
        **{None: 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2)},
        "leaky_relu": math.sqrt(2 / (1 + negative_slope**2)),
    }
    if nonlinearity not in gains:
        raise MoxValueError(
            f"kaiming_initializer: nonlinearity={shown(nonlinearity)} is none of None, sigmoid,"
            " tanh, relu, leaky_relu."
        )
    del shape  # The variable's own shape is used.
    return variance_scaling_initializer(gains[nonlinearity] ** 2, mode, distribution, data_format)


def _one_of(name: str, value: str, legal: tuple[str, ...]) -> None:
    if value not in legal:
        raise MoxValueError(
            f"variance_scaling_initializer: {name}={shown(value)} is none of {', '.join(legal)}."
            + near_matches(str(value), legal)
        )


_FANS = {"kFanIn": "fan_in", "kFanOut": "fan_out", "kAverage": "fan_avg"}
_DISTRIBUTIONS = {
    "kRandomUniform": "random_uniform",
    "kRandomNormal": "random_normal",
    "kTruncatedNormal": "truncated_normal",
}
_FAN_FIELDS = {"variance_norm": "fan_in", "data_format": ""}
_RANGE_FIELDS = {"start": 0, "stride": 1, "axis": -1}
_CONFS: dict[str, tuple[str, dict[str, Any]]] = {
    "constant_conf": ("constant", {"value": 0}),
    "constant_int_conf": ("constant", {"value": 0}),
    "random_uniform_conf": ("uniform", {"min": 0, "max": 1}),
    "random_uniform_int_conf": ("uniform", {"min": 0, "max": 1}),
    "random_normal_conf": ("normal", {"mean": 0, "std": 1}),
    "truncated_normal_conf": ("truncated", {"mean": 0, "std": 0.05}),
    "range_conf": ("range", _RANGE_FIELDS),
    "int_range_conf": ("range", _RANGE_FIELDS),
    "xavier_conf": ("xavier", _FAN_FIELDS),
    "msra_conf": ("msra", _FAN_FIELDS),
    "variance_scaling_conf": (
        "scaled",
        {"scale": 1.0, "distribution": "truncated_normal", **_FAN_FIELDS},
    ),
}


def from_conf(conf: dict[str, Any]) -> Initializer:
    """The initializer that a dict such as `{"constant_conf": {"value": 1}}` names.

    Raises:
        MoxValueError: an unknown key.
    """
    if not isinstance(conf, dict) or len(conf) != 1 or next(iter(conf)) not in _CONFS:
        raise MoxValueError(
            f"an initializer conf is a dict with one key of {', '.join(_CONFS)}, not {shown(conf)}."
        )
    ((key, fields),) = conf.items()
    kind, defaults = _CONFS[key]
    unknown = sorted(set(fields) - set(defaults))
    if unknown:
        raise MoxValueError(f"{key} has no {unknown[0]!r}.{near_matches(unknown[0], defaults)}")
    values = {**defaults, **fields}
    if "variance_norm" in values:
        return _of_fan(kind, **values)
    if kind == "range":
        return Initializer(kind, values["start"], values["stride"], axis=values["axis"])
    return Initializer(kind, *values.values())


def _of_fan(
    kind: str,
    variance_norm: str,
    data_format: str,
    scale: float = 1.0,
    distribution: str = "random_uniform",
) -> Initializer:
    """Xavier's initializer is uniform with variance 1 / fan, and Msra's normal with 2 / fan."""
    if kind == "msra":
        scale, distribution = 2.0, "random_normal"
    mode = _FANS.get(variance_norm, variance_norm)
    distribution = _DISTRIBUTIONS.get(distribution, distribution)
    return variance_scaling_initializer(scale, mode, distribution, data_format)


def given(value: Any) -> Any:
    """The initializer that a program gives, or that its `InitializerConf` describes.

    Anything else is returned as it is.

    Raises:
        MoxValueError: nothing is set in the message.
    """
    if not isinstance(value, Message) or value.DESCRIPTOR.name != "InitializerConf":
        return value
    key = value.WhichOneof("type")
    if key is None:
        raise MoxValueError(
            "this InitializerConf has no initializer: set one, as with"
            " conf.constant_conf.value = 0.0."
        )
    message = getattr(value, key)
    return from_conf({key: {f.name: _plain(f, message) for f in message.DESCRIPTOR.fields}})


def _plain(field: Any, message: Message) -> Any:
    """A field's value; for an enum, the name of the value."""
    value = getattr(message, field.name)
    return field.enum_type.values_by_number[value].name if field.enum_type else value


__all__ = [
    "constant_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "kaiming_initializer",
    "ones_initializer",
    "random_normal_initializer",
    "random_uniform_initializer",
    "truncated_normal",
    "truncated_normal_initializer",
    "variance_scaling_initializer",
    "xavier_normal_initializer",
    "xavier_uniform_initializer",
    "zeros_initializer",
]
