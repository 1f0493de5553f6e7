"""What the layers of one network have in common, as one frozen value that families adapt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

Activation = Callable[[tf.Tensor], tf.Tensor]
Initializer = Any


def he_normal() -> Initializer:
    """Variance 2 / fan-in, truncated normal (He et al., arXiv:1502.01852)."""
    return tf.initializers.variance_scaling(2.0, "fan_in", "truncated_normal")


def he_normal_fan_out() -> Initializer:
    """Variance 2 / fan-out, truncated normal (He et al., arXiv:1502.01852)."""
    return tf.initializers.variance_scaling(2.0, "fan_out", "truncated_normal")


def xavier_uniform() -> Initializer:
    """Variance 2 / (fan-in + fan-out), uniform (Glorot and Bengio, AISTATS 2010)."""
    return tf.initializers.variance_scaling(1.0, "fan_avg", "uniform")


def truncated_normal(stddev: float) -> Initializer:
    """Normal with the given standard deviation before truncation at twice its value."""
    return tf.truncated_normal_initializer(stddev=stddev)


@dataclass(frozen=True)
class Style:
    """How layers behave unless a call says otherwise.

    Attributes:
        training: batch statistics and dropout are used; moving averages are updated.
        weight_decay: L2 coefficient; each decayed weight adds
            `weight_decay * sum(w ** 2) / 2` to `REGULARIZATION_LOSSES`. 0.0 adds nothing.
        data_format: layout of every activation inside the network, "NHWC" or "NCHW".
        batch_renorm: train with batch renormalization instead of batch normalization.
        normalize: convolutions are followed by batch norm and have no bias.
        norm_decay: decay of the moving averages per step.
        norm_epsilon: added to the variance.
        norm_scale: batch norm has a gamma.
        activation: applied after the layer, `None` for none.
        weights: initializer of kernels.
        bias: initial value of biases of layers without batch norm, `None` for no biases.
        decay_depthwise: depthwise kernels are decayed too.
        decay_bias: biases are decayed too.
        pool_padding: padding of pools.
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
        """Height and width of a rank-4 activation, each `None` where it isn't known statically."""
        height, width = (net.shape.as_list()[axis] for axis in self.spatial_axes)
        return height, width

    def per_axis(self, pair: tuple[int, int]) -> list[int]:
        """`[1, h, w, 1]`, or `[1, 1, h, w]` in NCHW: strides and window sizes of TensorFlow."""
        height, width = pair
        return [1, height, width, 1] if self.data_format == "NHWC" else [1, 1, height, width]
