"""Batch normalization and batch renormalization with slim's variable names."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError
from moxing.tensorflow.nets.runtime import global_step
from moxing.tensorflow.nets.style import Activation, Style
from moxing.tensorflow.nets.variables import variable

_RENORM_DECAY = 0.99


def batch_norm(
    style: Style,
    net: tf.Tensor,
    *,
    scope: str = "BatchNorm",
    activation: Activation | None = None,
    center: bool = True,
    scale: bool | None = None,
    fused: bool = True,
) -> tf.Tensor:
    """Applies batch normalization (Ioffe and Szegedy, arXiv:1502.03167) to a rank-4 activation.

    The variables are `beta`, `gamma` (if `scale`), `moving_mean` and `moving_variance`, all float32
    for any dtype of `net`. In training, the updates of the moving averages are added to
    `UPDATE_OPS`: `moving = decay * moving + (1 - decay) * batch`, with the unbiased variance of the
    batch.

    Args:
        fused: whether the normalization by moving averages is one operation, which TensorFlow may
            fuse with the convolution before it and the activation after it.
    """
    depth = [style.channels(net)]
    scale = style.norm_scale if scale is None else scale
    with tf.variable_scope(scope):
        beta = (
            variable("beta", depth, tf.float32, tf.zeros_initializer())
            if center
            else tf.zeros(depth)
        )
        gamma = (
            variable("gamma", depth, tf.float32, tf.ones_initializer()) if scale else tf.ones(depth)
        )
        mean = _statistic("moving_mean", depth, tf.zeros_initializer())
        variance = _statistic("moving_variance", depth, tf.ones_initializer())
        if style.training and style.batch_renorm:
            net = _renormalize(style, net, gamma, beta, mean, variance)
        elif style.training:
            net = _normalize(style, net, gamma, beta, mean, variance)
        elif not fused:
            net = _scale(style, net, gamma, beta, mean, variance)
        else:
            net = tf.nn.fused_batch_norm(
                net,
                gamma,
                beta,
                mean=mean,
                variance=variance,
                epsilon=style.norm_epsilon,
                data_format=style.data_format,
                is_training=False,
            )[0]
        return net if activation is None else activation(net)


def _scale(
    style: Style, net: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, mean: Any, variance: Any
) -> tf.Tensor:
    """Normalizes by the moving averages with one product and one sum per value, in float32."""
    shape = [1, 1, 1, 1]
    shape[style.channel_axis] = style.channels(net)
    factor = gamma * tf.rsqrt(variance + style.norm_epsilon)
    shift = tf.reshape(beta - mean * factor, shape)
    scaled = tf.cast(net, tf.float32) * tf.reshape(factor, shape) + shift
    return tf.cast(scaled, net.dtype)


def _statistic(name: str, shape: list[int], initializer: Any) -> Any:
    return variable(name, shape, tf.float32, initializer, trainable=False)


def _normalize(
    style: Style, net: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, mean: Any, variance: Any
) -> tf.Tensor:
    # The kernel mixes old and new statistics itself, so each average needs only one assignment.
    net, new_mean, new_variance = tf.nn.fused_batch_norm(
        net,
        gamma,
        beta,
        mean=mean,
        variance=variance,
        epsilon=style.norm_epsilon,
        data_format=style.data_format,
        exponential_avg_factor=1.0 - style.norm_decay,
    )
    _update(mean, new_mean)
    _update(variance, new_variance)
    return net


def _renormalize(
    style: Style, net: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, mean: Any, variance: Any
) -> tf.Tensor:
    """Applies batch renormalization (Ioffe, arXiv:1702.03275), equations (1) and (2).

    The statistics that correct the batch are `renorm_mean` and `renorm_stddev`, averages with a
    decay of 0.99; the slower `moving_mean` and `moving_variance` serve inference.
    """
    shape = [style.channels(net)]
    renorm_mean = _statistic("renorm_mean", shape, tf.zeros_initializer())
    renorm_stddev = _statistic("renorm_stddev", shape, tf.ones_initializer())
    batch_mean, batch_variance = tf.nn.moments(
        tf.cast(net, tf.float32), [0, *style.spatial_axes], keepdims=False
    )
    stddev = tf.sqrt(batch_variance + style.norm_epsilon)
    r_max, d_max = _renorm_limits()
    r = tf.clip_by_value(stddev / renorm_stddev, 1.0 / r_max, r_max)
    d = tf.clip_by_value((batch_mean - renorm_mean) / renorm_stddev, -d_max, d_max)
    r, d = tf.stop_gradient(r), tf.stop_gradient(d)
    factor = gamma * r / stddev
    offset = beta + gamma * d - batch_mean * factor
    _update(mean, _mixed(mean, batch_mean, style.norm_decay))
    _update(variance, _mixed(variance, batch_variance, style.norm_decay))
    _update(renorm_mean, _mixed(renorm_mean, batch_mean, _RENORM_DECAY))
    _update(renorm_stddev, _mixed(renorm_stddev, stddev, _RENORM_DECAY))
    broadcast = style.per_axis((1, 1))
    broadcast[style.channel_axis] = shape[0]
    return net * tf.reshape(tf.cast(factor, net.dtype), broadcast) + tf.reshape(
        tf.cast(offset, net.dtype), broadcast
    )


def _renorm_limits() -> tuple[tf.Tensor, tf.Tensor]:
    """Returns (r_max, d_max) of the paper's schedule (section 4.2): looser after step 5,000.

    r_max grows from 1 to 3 by step 40,000, and d_max from 0 to 5 by step 25,000.
    """
    step = global_step()

    def ramp(end: float) -> tf.Tensor:
        return tf.clip_by_value((step - 5_000.0) / (end - 5_000.0), 0.0, 1.0)

    return 1.0 + 2.0 * ramp(40_000.0), 5.0 * ramp(25_000.0)


def _mixed(old: Any, new: tf.Tensor, decay: float) -> tf.Tensor:
    return old * decay + tf.stop_gradient(new) * (1.0 - decay)


def _update(statistic: Any, value: tf.Tensor) -> None:
    if not hasattr(statistic, "assign"):
        raise MoxTypeError(
            f"the custom getter of variable scope {tf.get_variable_scope().name!r} returned "
            f"{statistic!r} for a moving average of batch norm, which can't be assigned; return "
            "the variable itself where trainable=False or where its dtype is the one asked for"
        )
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, statistic.assign(value, read_value=False))
