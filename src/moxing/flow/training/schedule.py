"""Learning rates as functions of the step: warm-up, then decay (formulas of TensorFlow 1.x)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.flow.training import conf as confs


def rate(base: float, step: tf.Tensor, conf: Mapping[str, Any], later: bool) -> tf.Tensor:
    """The learning rate of a step, a float32 scalar.

    Args:
        base: the learning rate before decay.
        step: finished steps, an int64 scalar.
        conf: a `model_update_conf`.
        later: whether warm-up begins with the factor of step 0, as from 2020 on, and not with that
            of step 1.
    """
    t = tf.cast(step, tf.float32)
    result = tf.constant(base, tf.float32)
    if "learning_rate_decay" in conf:
        key, fields = confs.choice("learning_rate_decay", conf["learning_rate_decay"], confs.DECAYS)
        result = _decayed(key, fields, base, t)
    if "warmup_conf" in conf:
        key, fields = confs.choice("warmup_conf", conf["warmup_conf"], confs.WARMUPS)
        factor = _warm(key, fields, t if later else t + 1)
        result = tf.where(t < fields["warmup_batches"], base * factor, result)
    return result


def _warm(key: str, fields: Mapping[str, Any], t: tf.Tensor) -> Any:
    name = "multiplier" if key == "constant_conf" else "start_multiplier"
    factor, batches = fields[name], fields["warmup_batches"]
    if not (0 < factor < 1 or (factor == 0 and key == "linear_conf")) or batches < 0:
        raise MoxValueError(
            f"warmup_conf[{key!r}]: {name}={factor} must be less than 1 and not negative, and"
            f" warmup_batches={batches} not negative."
        )
    if key == "constant_conf":
        return tf.constant(factor, tf.float32)
    return factor + (1 - factor) * t / max(batches, 1)


def _decayed(key: str, fields: Mapping[str, Any], base: float, t: tf.Tensor) -> tf.Tensor:
    if key == "piecewise_constant_conf":
        return _piecewise(key, "values", fields, t)
    if key == "piecewise_scaling_conf":
        return base * _piecewise(key, "scales", fields, t)
    batches = float(fields["decay_batches"])
    if batches <= 0:
        raise MoxValueError(f"learning_rate_decay[{key!r}]: decay_batches must be positive.")
    if key == "polynomial_conf":
        return _polynomial(fields, base, batches, t)
    if "decay_rate" in fields:
        return _by_rate(key, fields, base, t / batches)
    p = tf.minimum(t, batches) / batches
    if key == "cosine_conf":
        alpha = fields["alpha"]
        return base * ((1 - alpha) * 0.5 * (1 + tf.cos(math.pi * p)) + alpha)
    cosine = 0.5 * (1 + tf.cos(math.pi * 2 * fields["num_periods"] * p))
    return base * ((fields["alpha"] + 1 - p) * cosine + fields["beta"])


def _by_rate(key: str, fields: Mapping[str, Any], base: float, p: tf.Tensor) -> tf.Tensor:
    p, speed = (tf.floor(p) if fields["staircase"] else p), float(fields["decay_rate"])
    if key == "exponential_conf":
        return base * tf.pow(tf.constant(speed, tf.float32), p)
    return base / (1 + speed * p) if key == "inverse_time_conf" else base * tf.exp(-speed * p)


def _polynomial(fields: Mapping[str, Any], base: float, batches: float, t: tf.Tensor) -> tf.Tensor:
    span: Any = batches
    if fields["cycle"]:
        span = batches * tf.maximum(1.0, tf.ceil(t / batches))
    end, left = fields["end_learning_rate"], 1 - tf.minimum(t, span) / span
    return (base - end) * tf.pow(left, float(fields["power"])) + end


def _piecewise(key: str, name: str, fields: Mapping[str, Any], t: tf.Tensor) -> tf.Tensor:
    boundaries, values = fields["boundaries"], fields[name]
    if len(values) != len(boundaries) + 1 or list(boundaries) != sorted(boundaries):
        raise MoxValueError(
            f"{key} takes ascending boundaries and one more of {name} than of those:"
            f" boundaries={list(boundaries)}, {name}={list(values)}."
        )
    passed = tf.reduce_sum(tf.cast(t > tf.constant(list(boundaries), tf.float32), tf.int32))
    return tf.gather(tf.constant(list(values), tf.float32), passed)
