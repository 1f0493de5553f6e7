"""Learning rates that follow the global step: piecewise, linear cosine and polynomial."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError
from moxing.tensorflow.optimizer.lr_strategy import Stage, parse_lr_strategy

_NEVER = (1 << 63) - 1


def piecewise_lr(lr_strategy: str | float, num_samples: int, global_batch_size: int) -> tf.Tensor:
    """Returns the learning rate for the current global step, by stages of epochs.

    "5:0.1->0.4,10:0.4=>0.8,15:0.8,20:0.08" grows linearly from 0.1 to 0.4 during epochs 0 to 5,
    grows geometrically to 0.8 until epoch 10, and is 0.8 until epoch 15; then it is 0.08, also
    after epoch 20. At fraction f of a stage, the rate is a + (b - a) f or a (b / a)^f. The step at
    a boundary belongs to the later stage. An epoch has ceil(num_samples / global_batch_size) steps.
    The global step is that of `tf.train.get_or_create_global_step()`.

    Args:
      lr_strategy: stages `END:VALUE`, separated by commas, with END in epochs (decimals are
        allowed); or one number for a constant rate.
      num_samples: the number of samples in an epoch.
      global_batch_size: the number of samples per increment of the global step: the batch size
        times the number of devices and, in synchronous training, of workers.

    Returns:
      A float32 scalar. It is computed in float64, so that a constant stage and the first step of
      every stage give the float32 nearest to the number in the strategy.

    Raises:
      MoxTypeError: an argument has the wrong type.
      MoxValueError: the strategy does not match the grammar (the message shows where), or a count
        is below 1.
    """
    stages = parse_lr_strategy(lr_strategy, "piecewise_lr")
    samples = _check_count("num_samples", num_samples)
    batch = _check_count("global_batch_size", global_batch_size)
    with tf.name_scope("piecewise_lr"):
        if len(stages) == 1:
            return tf.constant(stages[0].first, tf.float32, name="learning_rate")
        return _evaluate(stages, steps_per_epoch=-(-samples // batch))


def linear_cosine_decay(
    max_lr: float, min_lr: float, global_step: Any, max_step: int, warmup: float, decay_end: float
) -> tf.Tensor:
    """Returns a learning rate with linear warm-up, then linear cosine decay, then `min_lr`.

    With p = global_step / max_step, the rate grows linearly from `min_lr` to `max_lr` while
    p < warmup. Then it is min_lr + (max_lr - min_lr) (1 - f) (1 + cos(pi f)) / 2, where f grows
    from 0 at `warmup` to 1 at `decay_end`. After that, it is `min_lr`.

    Args:
      max_lr: the maximum rate.
      min_lr: the rate at the start of the warm-up and the end of the decay, at least 0.
      global_step: a scalar integer tensor or variable.
      max_step: the number of steps of the whole run.
      warmup: the share of the run that is warm-up, in [0, 1).
      decay_end: the share of the run at which the decay ends, in (warmup, 1].

      Returns:
        A float32 scalar.

      Raises:
        MoxValueError: a number is outside its range.

    Reference: Bello et al., Neural Optimizer Search with Reinforcement Learning (2017),
    arXiv:1709.07417; here without floor (alpha = beta = 0) and with half a cosine period.
    """
    _check_ranges("linear_cosine_decay", max_lr, min_lr, max_step, warmup, decay_end)
    with tf.name_scope("linear_cosine_decay"):
        rise, fall = _phases(global_step, max_step, warmup, decay_end)
        shape = (1.0 - fall) * 0.5 * (1.0 + tf.cos(math.pi * fall))
        return _between(min_lr, max_lr, rise * shape)


def polynomial_decay(
    max_lr: float,
    min_lr: float,
    global_step: Any,
    max_step: int,
    warmup: float,
    decay_end: float,
    power: float = 2.0,
) -> tf.Tensor:
    """Returns a rate of linear warm-up, then min_lr + (max_lr - min_lr) (1 - f)^power, then min_lr.

    See `linear_cosine_decay` for the arguments, result, errors and f. The default power is from the
    large-batch recipe of You et al., Large Batch Training of Convolutional Networks (2017),
    arXiv:1708.03888.
    """
    _check_ranges("polynomial_decay", max_lr, min_lr, max_step, warmup, decay_end)
    if not power > 0:
        raise MoxValueError(f"polynomial_decay: power is {power}; it must be above 0.")
    with tf.name_scope("polynomial_decay"):
        rise, fall = _phases(global_step, max_step, warmup, decay_end)
        return _between(min_lr, max_lr, rise * tf.pow(1.0 - fall, power))


def _evaluate(stages: tuple[Stage, ...], steps_per_epoch: int) -> tf.Tensor:
    """Evaluates (first + slope f) ratio^f, one formula for all stages, with a row per stage."""
    rows, boundaries, begin = [], [], 0.0
    for stage in stages:
        end = math.inf if stage.end is None else float(stage.end * steps_per_epoch)
        slope = 0.0 if stage.exponential else stage.last - stage.first
        ratio = stage.last / stage.first if stage.exponential else 1.0
        rows.append((begin, end - begin, stage.first, slope, ratio))
        if stage.end is not None:
            # Steps are whole, so step >= end is step >= ceil(end), which is exact.
            boundaries.append(min(math.ceil(stage.end * steps_per_epoch), _NEVER))
        begin = end
    step = tf.cast(tf.train.get_or_create_global_step(), tf.int64)
    index = tf.reduce_sum(tf.cast(step >= np.array(boundaries, np.int64), tf.int32))
    row = tf.gather(tf.constant(rows, tf.float64), index)
    start, width, first, slope, ratio = tf.unstack(row, num=5)
    fraction = (tf.cast(step, tf.float64) - start) / width
    rate = (first + slope * fraction) * tf.pow(ratio, fraction)
    return tf.cast(rate, tf.float32, name="learning_rate")


def _phases(
    global_step: Any, max_step: int, warmup: float, decay_end: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the progress of the warm-up and of the decay, each from 0 to 1, in float64."""
    progress = tf.cast(global_step, tf.float64) / float(max_step)
    fall = tf.clip_by_value((progress - warmup) / (decay_end - warmup), 0.0, 1.0)
    if warmup == 0:
        return tf.ones_like(progress), fall
    return tf.clip_by_value(progress / warmup, 0.0, 1.0), fall


def _between(low: float, high: float, share: tf.Tensor) -> tf.Tensor:
    return tf.cast(low + (high - low) * share, tf.float32, name="learning_rate")


def _check_count(name: str, value: Any) -> int:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole and not (isinstance(value, float) and value.is_integer()):
        raise MoxTypeError(
            f"piecewise_lr: {name} is {value!r} ({type(value).__name__}); "
            f"it must be a whole number."
        )
    if value < 1:
        raise MoxValueError(f"piecewise_lr: {name} is {value}; it must be at least 1.")
    return int(value)


def _check_ranges(
    where: str, max_lr: float, min_lr: float, max_step: int, warmup: float, decay_end: float
) -> None:
    if not 0 <= min_lr <= max_lr or not 0 < max_lr < math.inf:
        raise MoxValueError(
            f"{where}: min_lr is {min_lr} and max_lr is {max_lr}; "
            f"they must satisfy 0 <= min_lr <= max_lr and max_lr > 0."
        )
    if not max_step >= 1:
        raise MoxValueError(f"{where}: max_step is {max_step}; it must be at least 1.")
    if not 0 <= warmup < decay_end <= 1:
        raise MoxValueError(
            f"{where}: warmup is {warmup} and decay_end is {decay_end}; they are shares of the "
            f"run and must satisfy 0 <= warmup < decay_end <= 1."
        )
