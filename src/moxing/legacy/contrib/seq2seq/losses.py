"""Sequence losses: `tf.contrib.legacy_seq2seq`'s take lists, and `seq2seq`'s take tensors."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError

_NO_ZERO = 1e-12


def sequence_loss_by_example(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Any = None,
    name: str | None = None,
) -> Any:
    """Returns the weighted cross-entropy of each sequence, of shape [batch].

    Args:
        logits: a list of tensors of shape [batch, classes], one per step.
        targets: a list of integer tensors of shape [batch].
        weights: a list of tensors of shape [batch].
        average_across_timesteps: whether the sum is divided by the sum of the weights.
        softmax_loss_function: a function of labels= and logits= that replaces the cross-entropy.
        name: the name of the operations.

        Returns:
            A tensor of shape [batch].

        Raises:
            MoxValueError: the lists have different lengths.
    """
    _check_lengths(logits, targets, weights)
    with tf.name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        losses = []
        for logit, target, weight in zip(logits, targets, weights, strict=True):
            if softmax_loss_function is None:
                labels = tf.reshape(target, [-1])
                loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logit)
            else:
                loss = _called(softmax_loss_function, target, logit)
            losses.append(loss * weight)
        total = tf.add_n(losses)
        return total / (tf.add_n(list(weights)) + _NO_ZERO) if average_across_timesteps else total


def list_sequence_loss(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Any = None,
    name: str | None = None,
) -> Any:
    """Returns the mean or the sum of `sequence_loss_by_example`, a scalar.

    Args:
        logits: see `sequence_loss_by_example`.
        targets: see `sequence_loss_by_example`.
        weights: see `sequence_loss_by_example`.
        average_across_timesteps: see `sequence_loss_by_example`.
        average_across_batch: whether the sum is divided by the number of sequences.
        softmax_loss_function: see `sequence_loss_by_example`.
        name: see `sequence_loss_by_example`.
    """
    with tf.name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        each = sequence_loss_by_example(
            logits, targets, weights, average_across_timesteps, softmax_loss_function
        )
        total = tf.reduce_sum(each)
        return (
            total / tf.cast(tf.shape(targets[0])[0], total.dtype) if average_across_batch else total
        )


def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: Any = False,
    sum_over_batch: Any = False,
    softmax_loss_function: Any = None,
    name: str | None = None,
) -> Any:
    """Returns the weighted cross-entropy of sequences.

    The order of the arguments is that of TensorFlow 1.15. Until 1.13 softmax_loss_function and name
    stood in the places of the two sums: they are told by their types.

    Args:
        logits: a tensor of shape [batch, time, classes].
        targets: integers of shape [batch, time].
        weights: a tensor of shape [batch, time]; weight 0 leaves a step out.
        average_across_timesteps: sums over the steps, and divides by the sum of their weights.
        average_across_batch: does the same over the sequences.
        sum_over_timesteps: sums over the steps, and divides by the number of weights above 0.
        sum_over_batch: does the same over the sequences. The two sums have an effect only if
            nothing is averaged.
        softmax_loss_function: a function of labels= and logits= that replaces the cross-entropy.
        name: the name of the operations.

        Returns:
            A scalar or a tensor of shape [batch], [time] or [batch, time], without the averaged or
            summed dimensions.

        Raises:
            MoxValueError: a tensor has another rank, or a dimension is both averaged and summed.
    """
    for tensor, rank, called in (
        (logits, 3, "logits"),
        (targets, 2, "targets"),
        (weights, 2, "weights"),
    ):
        if len(tensor.shape) != rank:
            raise MoxValueError(f"{called} must have {rank} dimensions, not {tensor.shape}.")
    if sum_over_timesteps is None or callable(sum_over_timesteps):
        softmax_loss_function = sum_over_timesteps or softmax_loss_function
        sum_over_timesteps = False
    if isinstance(sum_over_batch, str):
        name, sum_over_batch = sum_over_batch, False
    both = "are mutually exclusive: at most one of them may be True."
    if average_across_timesteps and sum_over_timesteps:
        raise MoxValueError(f"average_across_timesteps and sum_over_timesteps {both}")
    if average_across_batch and sum_over_batch:
        raise MoxValueError(f"average_across_batch and sum_over_batch {both}")
    with tf.name_scope(name, "sequence_loss", [logits, targets, weights]):
        flat = tf.reshape(logits, [-1, tf.shape(logits)[2]])
        labels = tf.reshape(targets, [-1])
        if softmax_loss_function is None:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=flat)
        else:
            losses = _called(softmax_loss_function, labels, flat)
        losses *= tf.reshape(weights, [-1])
        losses = tf.reshape(losses, tf.shape(logits)[:2])
        averaged, summed = (
            [axis for axis, wanted in enumerate(axes) if wanted]
            for axes in (
                (average_across_batch, average_across_timesteps),
                (sum_over_batch, sum_over_timesteps),
            )
        )
        if averaged:
            return _divided(losses, averaged, tf.reduce_sum(weights, averaged))
        if summed:
            count = tf.math.count_nonzero(weights, summed, dtype=losses.dtype)
            return _divided(losses, summed, count)
        return losses


def _called(function: Any, labels: Any, logits: Any) -> Any:
    """Calls a program's loss function.

    TensorFlow 1.2 and later gave the arguments by name; 1.0 and 1.1 gave the labels first, 0.12 the
    logits, which programs called inputs.
    """
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = ["labels", "logits"]
    if "logits" in names or len(names) != 2:
        return function(labels=labels, logits=logits)
    return function(logits, labels) if names[1] == "labels" else function(labels, logits)


def _divided(losses: Any, axes: list[int], by: Any) -> Any:
    return tf.math.divide_no_nan(tf.reduce_sum(losses, axes), by)


def _check_lengths(logits: Any, targets: Any, weights: Any) -> None:
    if not len(logits) == len(targets) == len(weights):
        raise MoxValueError(
            "Lengths of logits, weights, and targets must be the same:"
            f" {len(logits)}, {len(weights)}, {len(targets)}."
        )
