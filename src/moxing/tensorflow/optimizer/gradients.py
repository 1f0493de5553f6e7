"""Functions of gradients: dense tensors, norms, and the layer-wise trust ratio of LARS."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.parallel import replicas
from moxing.errors import MoxValueError

GradVar = tuple[Any, Any]


def with_gradient(grads_and_vars: Iterable[GradVar], where: str) -> list[GradVar]:
    """Returns the pairs that have a gradient.

    Raises:
      MoxValueError: no pair has a gradient.
    """
    pairs = list(grads_and_vars)
    kept = [(grad, var) for grad, var in pairs if grad is not None]
    if not kept:
        names = ", ".join(var.op.name for _, var in pairs[:5]) or "none"
        raise MoxValueError(
            f"{where}: no variable has a gradient (variables: {names}). "
            f"Does the loss depend on a trainable variable?"
        )
    return kept


def by_original(pairs: Iterable[GradVar]) -> list[tuple[Any, list[Any]]]:
    """Returns each gradient with its variable and the variable's copies on other devices."""
    groups: dict[str, tuple[Any, list[Any]]] = {}
    for grad, var in pairs:
        groups.setdefault(replicas.original_name(var), (grad, []))[1].append(var)
    return list(groups.values())


def dense(grad: Any, var: Any) -> tf.Tensor:
    """Returns the gradient as a dense tensor of the variable's shape; repeated rows are added."""
    if isinstance(grad, tf.IndexedSlices):
        shape = tf.shape(var, out_type=grad.indices.dtype)
        return tf.scatter_nd(grad.indices[:, tf.newaxis], grad.values, shape)
    return tf.convert_to_tensor(grad)


def is_vector(var: Any) -> bool:
    """Whether a variable has rank 0 or 1, like biases and the variables of batch norm."""
    return var.shape.rank is not None and var.shape.rank <= 1


def compiled(owner: str, patterns: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    """Returns compiled regular expressions for variable names.

    Raises:
        MoxValueError: `patterns` is a string, or a pattern is not a regular expression.
    """
    if isinstance(patterns, str):
        raise MoxValueError(f"{owner}: the patterns are {patterns!r}; give a list of patterns.")
    try:
        return tuple(re.compile(pattern) for pattern in patterns)
    except re.error as error:
        raise MoxValueError(
            f"{owner}: {error.pattern!r} is no regular expression: {error}."
        ) from error


def matches(var: Any, patterns: Sequence[re.Pattern[str]]) -> bool:
    """Whether any of the patterns matches anywhere in the variable's name."""
    name = var.name.split(":")[0]
    return any(pattern.search(name) for pattern in patterns)


def norm(tensor: tf.Tensor) -> tf.Tensor:
    """Returns the Euclidean norm of all elements, a float32 scalar (float64 for float64)."""
    if tensor.dtype.size < 4:
        tensor = tf.cast(tensor, tf.float32)
    return tf.sqrt(2.0 * tf.nn.l2_loss(tensor))


def trust_ratio(grad: tf.Tensor, weights: tf.Tensor, ratio: float, decay: float) -> tf.Tensor:
    """Returns ratio |w| / (|g| + decay |w|), or 1 if a norm is 0.

    The paper does not define the ratio for a norm of 0; with the formula alone, a layer that starts
    at zero would stay at zero.

    Returns:
      A scalar of the gradient's dtype.

    Reference: You, Gitman, Ginsburg, Large Batch Training of Convolutional Networks (2017),
    arXiv:1708.03888, section 4.
    """
    weight_norm, grad_norm = norm(weights), norm(grad)
    usable = tf.logical_and(weight_norm > 0, grad_norm > 0)
    denominator = tf.where(usable, grad_norm + decay * weight_norm, tf.ones_like(grad_norm))
    scaled = tf.where(usable, ratio * weight_norm / denominator, tf.ones_like(grad_norm))
    return tf.cast(scaled, grad.dtype)
