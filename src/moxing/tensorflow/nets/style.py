"""The settings that all layers of a network share, as a frozen value that families adapt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

Activation = Callable[[tf.Tensor], tf.Tensor]
Initializer = Any


def he_normal() -> Initializer:
    """Returns a truncated normal initializer of variance 2 / fan-in (He, arXiv:1502.01852)."""
    return tf.initializers.variance_scaling(2.0, "fan_in", "truncated_normal")


def he_normal_fan_out() -> Initializer:
    """Returns a truncated normal initializer of variance 2 / fan-out (He, arXiv:1502.01852)."""
    return tf.initializers.variance_scaling(2.0, "fan_out", "truncated_normal")


def xavier_uniform() -> Initializer:
    """Returns a uniform initializer of variance 2 / (fan-in + fan-out) (Glorot, AISTATS 2010)."""
    return tf.initializers.variance_scaling(1.0, "fan_avg", "uniform")


def truncated_normal(stddev: float) -> Initializer:
    """Returns a normal initializer of a standard deviation, truncated at twice its value."""
    return tf.truncated_normal_initializer(stddev=stddev)


@dataclass(frozen=True)
class Style:
    """The default behavior of layers.

    Attributes:
        training: whether layers use batch statistics and dropout, and update moving averages.
        weight_decay: the L2 coefficient; each decayed weight adds
            `weight_decay * sum(w ** 2) / 2` to `REGULARIZATION_LOSSES`. 0.0 adds nothing.
        data_format: the layout of every activation inside the network, "NHWC" or "NCHW".
        batch_renorm: whether training uses batch renormalization instead of batch normalization.
        normalize: whether batch norm follows convolutions, which then have no bias.
        norm_decay: the decay of the moving averages per step.
        norm_epsilon: the number that batch norm adds to the variance.
        norm_scale: whether batch norm has a gamma.
        activation: the activation function after a layer; None: no activation.
        weights: the initializer of kernels.
        bias: the initial value of biases in layers without batch norm; None: no biases.
        decay_depthwise: whether depthwise kernels are decayed, too.
        decay_bias: whether biases are decayed, too.
        pool_padding: the padding of pooling layers.
        record_layers: convolutions and pools add themselves to `end_points` under the name of
            their variable scope.
        end_points: name -> activation, filled while the network is built.
    """

    training: bool
    weight_decay: float = 0.0
    data_format: str = "NHWC"
    batch_renorm: bool = False
    normalize: bool = True
    norm_decay: float = 0.9997
    norm_epsilon: float = 0.001
    norm_scale: bool = False
    activation: Activation | None = tf.nn.relu
    weights: Initializer = field(default_factory=he_normal)
    bias: float | None = 0.0
    decay_depthwise: bool = False
    decay_bias: bool = False
    pool_padding: str = "VALID"
    record_layers: bool = False
    end_points: dict[str, tf.Tensor] = field(default_factory=dict)

    @property
    def channel_axis(self) -> int:
        """The axis of the channels in a rank-4 activation."""
        return 3 if self.data_format == "NHWC" else 1

    @property
    def spatial_axes(self) -> tuple[int, int]:
        """The axes of height and width in a rank-4 activation."""
        return (1, 2) if self.data_format == "NHWC" else (2, 3)

    def channels(self, net: tf.Tensor) -> int:
        """The number of channels of a rank-4 activation."""
        return int(net.shape[self.channel_axis])

    def size(self, net: tf.Tensor) -> tuple[int | None, int | None]:
        """Returns (height, width) of a rank-4 activation; None stands for an unknown size."""
        height, width = (net.shape.as_list()[axis] for axis in self.spatial_axes)
        return height, width

    def per_axis(self, pair: tuple[int, int]) -> list[int]:
        """Returns strides or window sizes: `[1, h, w, 1]`, or `[1, 1, h, w]` in NCHW."""
        height, width = pair
        return [1, height, width, 1] if self.data_format == "NHWC" else [1, 1, height, width]
