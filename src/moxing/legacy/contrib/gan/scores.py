"""The scores of `tf.contrib.gan.eval`: how a classifier sees generated images beside real ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.legacy.contrib.gan.inception import (
    INCEPTION_FINAL_POOL,
    INCEPTION_OUTPUT,
    run_inception,
)

Classifier = Callable[[Any], Any]


def classifier_score(images: Any, classifier_fn: Classifier, num_batches: int = 1) -> Any:
    """Returns the score of `classifier_score_from_logits` for images.

    Args:
        images: float32 (images, height, width, channels); `num_batches` divides their number.
        classifier_fn: makes logits (images, classes) of images.
        num_batches: how many groups of images `classifier_fn` gets, one after another.
    """
    return classifier_score_from_logits(_classified(images, classifier_fn, num_batches))


def classifier_score_from_logits(logits: Any) -> Any:
    """Returns exp(E[KL(p(y|x) || p(y))]), the Inception score, as a scalar of the logits' type.

    Args:
        logits: (images, classes).
    """
    logits.shape.assert_has_rank(2)
    exact = tf.cast(logits, tf.float64)
    p = tf.nn.softmax(exact)
    divergences = kl_divergence(p, exact, tf.reduce_mean(p, 0))
    return tf.cast(tf.exp(tf.reduce_mean(divergences)), logits.dtype)


def kl_divergence(p: Any, p_logits: Any, q: Any) -> Any:
    """Returns the Kullback-Leibler divergence of each row of p, (images, classes), from q.

    Args:
        p: probabilities, (images, classes).
        p_logits: the logits that `p` was made of.
        q: probabilities, (classes,).

    Raises:
        ValueError: a tensor isn't of floats.
    """
    for tensor in (p, p_logits, q):
        if not tensor.dtype.is_floating:
            raise ValueError(f"Input {tensor.name} must be floating type: {tensor.dtype.name}")
    p.shape.assert_has_rank(2)
    p_logits.shape.assert_has_rank(2)
    q.shape.assert_has_rank(1)
    return tf.reduce_sum(p * (tf.nn.log_softmax(p_logits) - tf.log(q)), 1)


def trace_sqrt_product(sigma: Any, sigma_v: Any) -> Any:
    """Returns the trace of the square root of the product of two covariance matrices."""
    root = _root(sigma)
    return tf.trace(_root(tf.matmul(root, tf.matmul(sigma_v, root))))


def _root(matrix: Any, eps: float = 1e-10) -> Any:
    # The square root of a symmetric matrix; noise around zero stays as small as it is.
    s, u, v = tf.svd(matrix)
    s = tf.where(tf.less(s, eps), s, tf.sqrt(s))
    return tf.matmul(tf.matmul(u, tf.diag(s)), v, transpose_b=True)


def frechet_classifier_distance(
    real_images: Any, generated_images: Any, classifier_fn: Classifier, num_batches: int = 1
) -> Any:
    """Returns the distance of `frechet_classifier_distance_from_activations` for images.

    Args:
        real_images: float32 (images, height, width, channels); `num_batches` divides their number.
        generated_images: images alike.
        classifier_fn: makes activations (images, features) of images.
        num_batches: how many groups of images `classifier_fn` gets, one after another.
    """
    return frechet_classifier_distance_from_activations(
        _classified(real_images, classifier_fn, num_batches),
        _classified(generated_images, classifier_fn, num_batches),
    )


def frechet_classifier_distance_from_activations(
    real_activations: Any, generated_activations: Any
) -> Any:
    """Returns |m - w|^2 + Tr(C + D - 2 (C D)^(1/2)) of means m, w and covariances C, D.

    Args:
        real_activations: (images, features).
        generated_activations: (images, features).

    Returns:
        A scalar of the activations' type.
    """
    real, generated, kind = _exact(real_activations, generated_activations)
    (m, sigma), (m_w, sigma_w) = _moments(real), _moments(generated)
    spread = tf.trace(sigma + sigma_w) - 2.0 * trace_sqrt_product(sigma, sigma_w)
    return tf.cast(spread + tf.reduce_sum(tf.squared_difference(m, m_w)), kind)


def mean_only_frechet_classifier_distance_from_activations(
    real_activations: Any, generated_activations: Any
) -> Any:
    """Returns |m - w|^2 of the means of activations (images, features)."""
    real, generated, kind = _exact(real_activations, generated_activations)
    means = tf.reduce_mean(real, 0), tf.reduce_mean(generated, 0)
    return tf.cast(tf.reduce_sum(tf.squared_difference(*means)), kind)


def diagonal_only_frechet_classifier_distance_from_activations(
    real_activations: Any, generated_activations: Any
) -> Any:
    """Returns the Frechet distance of activations (images, features) taken as independent."""
    real, generated, kind = _exact(real_activations, generated_activations)
    (m, var), (m_w, var_w) = tf.nn.moments(real, [0]), tf.nn.moments(generated, [0])
    spread = tf.reduce_sum(var + var_w - 2.0 * tf.sqrt(var * var_w))
    return tf.cast(spread + tf.reduce_sum(tf.squared_difference(m, m_w)), kind)


def _exact(real: Any, generated: Any) -> tuple[Any, Any, Any]:
    real.shape.assert_has_rank(2)
    generated.shape.assert_has_rank(2)
    return tf.cast(real, tf.float64), tf.cast(generated, tf.float64), real.dtype


def _moments(activations: Any) -> tuple[Any, Any]:
    mean = tf.reduce_mean(activations, 0)
    apart = activations - mean
    others = tf.cast(tf.shape(activations)[0] - 1, tf.float64)
    return mean, tf.matmul(apart, apart, transpose_a=True) / others


def kernel_classifier_distance(
    real_images: Any,
    generated_images: Any,
    classifier_fn: Classifier,
    num_classifier_batches: int = 1,
    max_block_size: int = 1024,
    dtype: Any = None,
) -> Any:
    """Returns the first value of `kernel_classifier_distance_and_std` for images."""
    return kernel_classifier_distance_and_std(
        real_images, generated_images, classifier_fn, num_classifier_batches, max_block_size, dtype
    )[0]


def kernel_classifier_distance_and_std(
    real_images: Any,
    generated_images: Any,
    classifier_fn: Classifier,
    num_classifier_batches: int = 1,
    max_block_size: int = 1024,
    dtype: Any = None,
) -> tuple[Any, Any]:
    """Returns the values of `kernel_classifier_distance_and_std_from_activations` for images."""
    return kernel_classifier_distance_and_std_from_activations(
        _classified(real_images, classifier_fn, num_classifier_batches),
        _classified(generated_images, classifier_fn, num_classifier_batches),
        max_block_size,
        dtype,
    )


def kernel_classifier_distance_from_activations(
    real_activations: Any,
    generated_activations: Any,
    max_block_size: int = 1024,
    dtype: Any = None,
) -> Any:
    """Returns the first value of `kernel_classifier_distance_and_std_from_activations`."""
    return kernel_classifier_distance_and_std_from_activations(
        real_activations, generated_activations, max_block_size, dtype
    )[0]


def kernel_classifier_distance_and_std_from_activations(
    real_activations: Any,
    generated_activations: Any,
    max_block_size: int = 1024,
    dtype: Any = None,
) -> tuple[Any, Any]:
    """Returns the squared maximum mean discrepancy of activations, and its standard error.

    The kernel is (x . y / features + 1)^3. The rows are cut into as few blocks as
    `max_block_size` allows; the result is the mean of the unbiased estimates of the blocks.

    Args:
        real_activations: (images, features).
        generated_activations: (images, features).
        max_block_size: the most rows of a block.
        dtype: the type to compute in; default: that of the real activations.
    """
    real_activations.shape.assert_has_rank(2)
    generated_activations.shape.assert_has_rank(2)
    kind = tf.as_dtype(dtype or real_activations.dtype)
    real, generated = (tf.cast(each, kind) for each in (real_activations, generated_activations))
    counts = tf.shape(real)[0], tf.shape(generated)[0]
    blocks = tf.cast(tf.ceil(tf.maximum(*counts) / max_block_size), tf.int32)

    def part(rows: Any, count: Any, block: Any) -> Any:
        return rows[count * block // blocks : count * (block + 1) // blocks]

    def estimate(block: Any) -> Any:
        return _discrepancy(part(real, counts[0], block), part(generated, counts[1], block))

    estimates = tf.map_fn(estimate, tf.range(blocks), dtype=kind, back_prop=False)
    mean, variance = tf.nn.moments(estimates, [0])
    number = tf.cast(blocks, kind)
    # The variance of the blocks is an estimate itself: it divides by one less than their number.
    error = tf.where(
        tf.less_equal(blocks, 1),
        tf.constant(float("nan"), kind),
        tf.sqrt(variance / tf.maximum(number - 1, 1)),
    )
    return mean, error


def _discrepancy(real: Any, generated: Any) -> Any:
    features = tf.cast(tf.shape(real)[1], real.dtype)
    m, n = (tf.cast(tf.shape(each)[0], real.dtype) for each in (real, generated))

    def kernel(x: Any, y: Any) -> Any:
        return (tf.matmul(x, y, transpose_b=True) / features + 1) ** 3

    of_real, of_generated = kernel(real, real), kernel(generated, generated)
    return (
        (tf.reduce_sum(of_real) - tf.trace(of_real)) / (m * (m - 1))
        + (tf.reduce_sum(of_generated) - tf.trace(of_generated)) / (n * (n - 1))
        - 2 * tf.reduce_mean(kernel(real, generated))
    )


def _classified(images: Any, classifier_fn: Classifier, num_batches: int) -> Any:
    groups = tf.stack(tf.split(images, num_batches))
    results = tf.map_fn(
        classifier_fn,
        groups,
        dtype=tf.float32,
        parallel_iterations=1,
        back_prop=False,
        swap_memory=True,
        name="RunClassifier",
    )
    return tf.concat(tf.unstack(results), 0)


_LOGITS = functools.partial(run_inception, output_tensor=INCEPTION_OUTPUT)
_POOLED = functools.partial(run_inception, output_tensor=INCEPTION_FINAL_POOL)

inception_score = functools.partial(classifier_score, classifier_fn=_LOGITS)
frechet_inception_distance = functools.partial(frechet_classifier_distance, classifier_fn=_POOLED)
kernel_inception_distance = functools.partial(kernel_classifier_distance, classifier_fn=_POOLED)
kernel_inception_distance_and_std = functools.partial(
    kernel_classifier_distance_and_std, classifier_fn=_POOLED
)
