"""`tf.contrib.learn.models` and `.ops`: regressions that give their predictions and their loss."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf


def mean_squared_error_regressor(
    tensor_in: tf.Tensor,
    labels: tf.Tensor,
    weights: tf.Tensor,
    biases: tf.Tensor,
    name: str | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """The predictions of a linear layer, and the mean of their squared errors.

    Args:
        tensor_in: the features, of shape [batch, features].
        labels: what to predict, of shape [batch] or [batch, outputs].
        weights, biases: of shapes [features, outputs] and [outputs].
        name: the name of the scope.
    """
    with tf.name_scope(name, "mean_squared_error_regressor", [tensor_in, labels]):
        predictions = tf.nn.xw_plus_b(tensor_in, weights, biases)
        if labels.shape.rank == 1 and predictions.shape.rank == 2:
            predictions = tf.squeeze(predictions, axis=[1])
        return predictions, tf.losses.mean_squared_error(labels, predictions)


def softmax_classifier(
    tensor_in: tf.Tensor,
    labels: tf.Tensor,
    weights: tf.Tensor,
    biases: tf.Tensor,
    class_weight: tf.Tensor | None = None,
    name: str | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """The probabilities of classes, and the cross entropy of the labels.

    Args:
        tensor_in: the features, of shape [batch, features].
        labels: the probability of each class, of shape [batch, classes].
        weights, biases: of shapes [features, classes] and [classes].
        class_weight: a factor of each class' logits; None: all are 1.
        name: the name of the scope.
    """
    with tf.name_scope(name, "softmax_classifier", [tensor_in, labels]):
        logits = tf.nn.xw_plus_b(tensor_in, weights, biases)
        if class_weight is not None:
            logits = tf.multiply(logits, class_weight)
        return tf.nn.softmax(logits), tf.losses.softmax_cross_entropy(labels, logits)


def linear_regression(
    x: tf.Tensor, y: tf.Tensor, init_mean: float | None = None, init_stddev: float = 1.0
) -> tuple[tf.Tensor, tf.Tensor]:
    """A linear layer on the features x, and its squared error to y.

    Args:
        x: of shape [batch, features].
        y: of shape [batch] or [batch, outputs].
        init_mean: the mean of the first weights, which are drawn with init_stddev; None: the
            scope's initializer.

    Returns:
        The predictions and the loss.
    """
    outputs = 1 if y.shape.rank == 1 else tf.dimension_value(y.shape[1])
    with tf.variable_scope("linear_regression"):
        weights, bias = _layer(x, outputs, init_mean, init_stddev)
        return mean_squared_error_regressor(x, y, weights, bias)


def logistic_regression(
    x: tf.Tensor,
    y: tf.Tensor,
    class_weight: tf.Tensor | None = None,
    init_mean: float | None = None,
    init_stddev: float = 1.0,
) -> tuple[tf.Tensor, tf.Tensor]:
    """A linear layer and a softmax on the features x, and the cross entropy of y.

    Args:
        x: of shape [batch, features].
        y: the probability of each class, of shape [batch, classes].
        class_weight: a factor of each class' logits; None: a tensor `class_weight:0` of the
            graph, if there is one.
        init_mean, init_stddev: see `linear_regression`.

    Returns:
        The probabilities and the loss.
    """
    with tf.variable_scope("logistic_regression"):
        weights, bias = _layer(x, tf.dimension_value(y.shape[1]), init_mean, init_stddev)
        if class_weight is None:
            try:
                class_weight = tf.get_default_graph().get_tensor_by_name("class_weight:0")
            except KeyError:
                class_weight = None
        return softmax_classifier(x, y, weights, bias, class_weight)


def linear_regression_zero_init(x: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """`linear_regression` whose weights are 0 at first."""
    return linear_regression(x, y, init_mean=0.0, init_stddev=0.0)


def logistic_regression_zero_init(x: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """`logistic_regression` whose weights are 0 at first."""
    return logistic_regression(x, y, init_mean=0.0, init_stddev=0.0)


def _layer(x: tf.Tensor, outputs: Any, mean: float | None, stddev: float) -> Any:
    dtype = x.dtype.base_dtype
    start = None if mean is None else tf.random_normal_initializer(mean, stddev, dtype=dtype)
    sizes = [tf.dimension_value(x.shape[1]), outputs]
    weights = tf.get_variable("weights", sizes, initializer=start, dtype=dtype)
    bias = tf.get_variable("bias", [outputs], initializer=start, dtype=dtype)
    scope = tf.get_variable_scope().name
    for name, value in (("weights", weights), ("bias", bias)):
        tf.summary.histogram(f"{scope}.{name}", value)
    return weights, bias
