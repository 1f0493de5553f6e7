"""Weights of cells, with the variable names of `tf.contrib.rnn`."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError

KERNEL, BIAS = "kernel", "bias"


def linear(
    args: Any,
    output_size: int,
    bias: bool,
    bias_initializer: Any = None,
    kernel_initializer: Any = None,
    bias_start: float = 0.0,
    scope: Any = None,
) -> Any:
    """Returns `concat(args) @ kernel + bias`, with variables of the current scope.

    Args:
        args: a tensor [batch, n], or a list of such tensors.
        output_size: the number of columns of the result.
        bias: whether there is a bias.
        bias_initializer: the initializer of the bias; the constant `bias_start` by default. A
            number is that constant, as this was its place until TensorFlow 1.0.
        kernel_initializer: the initializer of the kernel; the scope's by default.
        bias_start: the value at which the bias starts, unless `bias_initializer` is given.
        scope: the variable scope, as until TensorFlow 1.0; the current scope by default.

    Returns:
        A tensor [batch, output_size].

    Raises:
        MoxValueError: there are no tensors, or the width of a tensor is unknown.
    """
    if scope is not None:
        with tf.variable_scope(scope):
            return linear(args, output_size, bias, bias_initializer, kernel_initializer, bias_start)
    tensors = list(tf.nest.flatten(args))
    if not tensors:
        raise MoxValueError("linear() needs at least one tensor in args.")
    total = sum(width(tensor, "linear()") for tensor in tensors)
    dtype = tensors[0].dtype
    kernel = tf.get_variable(KERNEL, [total, output_size], dtype, initializer=kernel_initializer)
    joined = tensors[0] if len(tensors) == 1 else tf.concat(tensors, 1)
    product = tf.matmul(joined, kernel)
    if not bias:
        return product
    start = bias_start if bias_initializer is None else bias_initializer
    if isinstance(start, (int, float)):
        start = tf.constant_initializer(start, dtype)
    return tf.nn.bias_add(product, tf.get_variable(BIAS, [output_size], dtype, initializer=start))


class Linear:
    """`linear` with variables that the object creates once and each call uses."""

    def __init__(
        self,
        args: Any,
        output_size: int,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
    ) -> None:
        tensors = list(tf.nest.flatten(args))
        total, dtype = sum(width(tensor, "_Linear") for tensor in tensors), tensors[0].dtype
        self._weights = tf.get_variable(
            KERNEL, [total, output_size], dtype, initializer=kernel_initializer
        )
        self._biases = None
        if build_bias:
            start = tf.zeros_initializer(dtype) if bias_initializer is None else bias_initializer
            self._biases = tf.get_variable(BIAS, [output_size], dtype, initializer=start)

    def __call__(self, args: Any) -> Any:
        """`concat(args) @ kernel + bias`."""
        tensors = list(tf.nest.flatten(args))
        product = tf.matmul(
            tensors[0] if len(tensors) == 1 else tf.concat(tensors, 1), self._weights
        )
        return product if self._biases is None else tf.nn.bias_add(product, self._biases)


def sharded(name: str, shape: list[int], dtype: Any, shards: int) -> Any:
    """Returns a matrix whose rows are in the `shards` variables `name_0`, `name_1`, ..."""
    if shards > shape[0]:
        raise MoxValueError(f"{shards} shards are more than the {shape[0]} rows of {name!r}.")
    rows, more = divmod(shape[0], shards)
    parts = [
        tf.get_variable(f"{name}_{index}", [rows + (index < more), *shape[1:]], dtype)
        for index in range(shards)
    ]
    return parts[0] if shards == 1 else tf.concat(parts, 0)


def layer_norm(values: Any, scope: str, gain: float, shift: float) -> Any:
    """Normalizes rows, and applies `scope/gamma` and `scope/beta` (Ba et al. 2016)."""
    size = [width(values, scope)]
    with tf.variable_scope(scope):
        gamma = tf.get_variable("gamma", size, initializer=tf.constant_initializer(gain))
        beta = tf.get_variable("beta", size, initializer=tf.constant_initializer(shift))
    mean, variance = tf.nn.moments(values, [-1], keep_dims=True)
    return tf.nn.batch_normalization(values, mean, variance, beta, gamma, 1e-12)


def width(tensor: Any, where: str) -> int:
    """Returns the static last dimension of a tensor."""
    size = tensor.shape[-1] if tensor.shape.ndims else None
    if size is None:
        raise MoxValueError(f"{where} needs a known last dimension, not the shape {tensor.shape}.")
    return int(size)


def state_parts(state: Any, units: int, output: int, is_tuple: bool) -> tuple[Any, Any]:
    """Returns (c, m) of a state: a pair, or a tensor with c and m concatenated."""
    if is_tuple:
        first, second = state
        return first, second
    return state[:, :units], state[:, units : units + output]
