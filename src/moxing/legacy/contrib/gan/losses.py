"""The losses of `tf.contrib.gan.losses.wargs`, which take tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

LOSSES = tf.GraphKeys.LOSSES
_MEAN = tf.losses.Reduction.SUM_BY_NONZERO_WEIGHTS


def _weighted(values: Any, weights: Any, collection: str | None, reduction: str) -> Any:
    return tf.losses.compute_weighted_loss(
        tf.cast(values, tf.float32), weights, None, collection, reduction
    )


def _kept(loss: Any, collection: str | None) -> Any:
    if collection:
        tf.losses.add_loss(loss, collection)
    return loss


def _summary(name: str, loss: Any, add_summaries: bool) -> Any:
    if add_summaries:
        tf.summary.scalar(name, loss)
    return loss


def _cross_entropy(logits: Any, target: float, weights: Any, smoothing: float, how: str) -> Any:
    return tf.losses.sigmoid_cross_entropy(
        tf.fill(tf.shape(logits), target), logits, weights, smoothing, None, None, how
    )


def wasserstein_generator_loss(
    discriminator_gen_outputs: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Minus the mean output of the discriminator for generated data."""
    with tf.name_scope(scope, "generator_wasserstein_loss"):
        loss = _weighted(-discriminator_gen_outputs, weights, loss_collection, reduction)
        return _summary("generator_wass_loss", loss, add_summaries)


def wasserstein_discriminator_loss(
    discriminator_real_outputs: Any,
    discriminator_gen_outputs: Any,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """The mean output for generated data minus that for real data."""
    with tf.name_scope(scope, "discriminator_wasserstein_loss"):
        made = _weighted(discriminator_gen_outputs, generated_weights, None, reduction)
        real = _weighted(discriminator_real_outputs, real_weights, None, reduction)
        loss = _kept(made - real, loss_collection)
        return _summary("discriminator_wass_loss", loss, add_summaries)


def wasserstein_gradient_penalty(
    real_data: Any,
    generated_data: Any,
    generator_inputs: Any,
    discriminator_fn: Callable[..., Any],
    discriminator_scope: Any,
    epsilon: float = 1e-10,
    target: float = 1.0,
    one_sided: bool = False,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """The squared distance of the gradient's norm from `target`, between real and made data."""
    with tf.name_scope(scope, "wasserstein_gradient_penalty"):
        real, made = tf.convert_to_tensor(real_data), tf.convert_to_tensor(generated_data)
        ones = [1] * (real.shape.rank - 1)
        share = tf.random_uniform(tf.concat([tf.shape(real)[:1], ones], 0))
        between = real + share * (made - real)
        with tf.variable_scope(discriminator_scope, reuse=True):
            outputs = discriminator_fn(between, generator_inputs)
            outputs = outputs[0] if isinstance(outputs, tuple) else outputs
        (gradient,) = tf.gradients(outputs, between)
        squares = tf.reduce_sum(tf.square(gradient), list(range(1, real.shape.rank)))
        excess = tf.sqrt(squares + epsilon) / target - 1.0
        excess = tf.maximum(0.0, excess) if one_sided else excess
        penalty = _weighted(tf.square(excess), weights, loss_collection, reduction)
        return _summary("gradient_penalty_loss", penalty, add_summaries)


def minimax_discriminator_loss(
    discriminator_real_outputs: Any,
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.25,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """The cross entropy of telling real data from generated data."""
    with tf.name_scope(scope, "discriminator_minimax_loss"):
        real = _cross_entropy(
            discriminator_real_outputs, 1.0, real_weights, label_smoothing, reduction
        )
        made = _cross_entropy(discriminator_gen_outputs, 0.0, generated_weights, 0.0, reduction)
        loss = _kept(real + made, loss_collection)
        return _summary("discriminator_minimax_loss", loss, add_summaries)


def minimax_generator_loss(
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.0,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Minus the discriminator's cross entropy of generated data."""
    with tf.name_scope(scope, "generator_minimax_loss"):
        told = _cross_entropy(discriminator_gen_outputs, 0.0, weights, label_smoothing, reduction)
        loss = _kept(-told, loss_collection)
        return _summary("generator_minimax_loss", loss, add_summaries)


def modified_generator_loss(
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.0,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """The cross entropy of generated data with the label of real data."""
    with tf.name_scope(scope, "generator_modified_loss"):
        loss = _cross_entropy(discriminator_gen_outputs, 1.0, weights, label_smoothing, reduction)
        return _summary("generator_modified_loss", _kept(loss, loss_collection), add_summaries)


def least_squares_generator_loss(
    discriminator_gen_outputs: Any,
    real_label: float = 1.0,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Half the squared distance of generated data's outputs from `real_label`."""
    with tf.name_scope(scope, "lsq_generator_loss"):
        squares = tf.math.squared_difference(discriminator_gen_outputs, real_label) / 2.0
        loss = _weighted(squares, weights, loss_collection, reduction)
        return _summary("generator_lsq_loss", loss, add_summaries)


def least_squares_discriminator_loss(
    discriminator_real_outputs: Any,
    discriminator_gen_outputs: Any,
    real_label: float = 1.0,
    fake_label: float = 0.0,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Half the squared distances of the outputs from their labels."""
    with tf.name_scope(scope, "lsq_discriminator_loss"):
        real = tf.math.squared_difference(discriminator_real_outputs, real_label) / 2.0
        made = tf.math.squared_difference(discriminator_gen_outputs, fake_label) / 2.0
        loss = _weighted(real, real_weights, None, reduction)
        loss = _kept(loss + _weighted(made, generated_weights, None, reduction), loss_collection)
        return _summary("discriminator_lsq_loss", loss, add_summaries)


def acgan_generator_loss(
    discriminator_gen_classification_logits: Any,
    one_hot_labels: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """The cross entropy of the classes of generated data."""
    with tf.name_scope(scope, "acgan_generator_loss"):
        loss = tf.losses.softmax_cross_entropy(
            one_hot_labels,
            discriminator_gen_classification_logits,
            weights,
            loss_collection=loss_collection,
            reduction=reduction,
        )
        return _summary("generator_ac_loss", loss, add_summaries)


def acgan_discriminator_loss(
    discriminator_real_classification_logits: Any,
    discriminator_gen_classification_logits: Any,
    one_hot_labels: Any,
    label_smoothing: float = 0.0,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """The cross entropies of the classes of real and of generated data."""
    with tf.name_scope(scope, "acgan_discriminator_loss"):
        loss = 0.0
        for logits, weights in (
            (discriminator_gen_classification_logits, generated_weights),
            (discriminator_real_classification_logits, real_weights),
        ):
            loss += tf.losses.softmax_cross_entropy(
                *(one_hot_labels, logits, weights, label_smoothing),
                loss_collection=None,
                reduction=reduction,
            )
        return _summary("discriminator_ac_loss", _kept(loss, loss_collection), add_summaries)


def mutual_information_penalty(
    structured_generator_inputs: list[Any],
    predicted_distributions: list[Any],
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Minus the log probability of the structured noise under the predicted distributions."""
    with tf.name_scope(scope, "mutual_information_loss"):
        pairs = zip(predicted_distributions, structured_generator_inputs, strict=True)
        logs = [tf.math.reduce_mean(law.log_prob(given)) for law, given in pairs]
        loss = _weighted(-tf.add_n(logs) / len(logs), weights, loss_collection, reduction)
        return _summary("mutual_information_penalty", loss, add_summaries)


def cycle_consistency_loss(
    data_x: Any,
    reconstructed_data_x: Any,
    data_y: Any,
    reconstructed_data_y: Any,
    scope: str | None = None,
    add_summaries: bool = False,
) -> Any:
    """The mean distance of data from its reconstruction, over both kinds of data."""
    with tf.name_scope(scope, "cycle_consistency_loss"):
        x = tf.losses.absolute_difference(data_x, reconstructed_data_x, loss_collection=None)
        y = tf.losses.absolute_difference(data_y, reconstructed_data_y, loss_collection=None)
        return _summary("cycle_consistency_loss", (x + y) / 2.0, add_summaries)
