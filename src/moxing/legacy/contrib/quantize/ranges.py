"""Ranges of values, kept in variables, and rounding within them."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf
from tensorflow.python.training import moving_averages

_START = 6.0  # the range of a ReLU6
_DECAY = 0.999
_STEP = "fake_quantization_step"


class Bits(NamedTuple):
    """How many bits weights and activations get, and whether ranges are symmetric around 0."""

    weights: int = 8
    activations: int = 8
    symmetric: bool = False


def step() -> Any:
    """Returns the number of runs of the graph, which each run of the result counts once."""
    graph = tf.get_default_graph()
    known = graph.get_collection_ref(_STEP)
    if not known:
        with graph.name_scope(None), graph.control_dependencies(None):
            counter = tf.get_variable(
                _STEP, [], tf.int64, tf.zeros_initializer(), trainable=False, use_resource=True
            )
            known.append(tf.identity(tf.assign_add(counter, 1)))
    return known[0]


def rounded_weights(name: str, values: Any, bits: Bits, training: bool, delay: int | None) -> Any:
    """Rounds weights within the range that they have now."""
    with tf.variable_scope(None, name, [values], reuse=False):
        low, high = _range()
        if training:
            least, most = _extent(values, bits.symmetric)
            low, high = tf.assign(low, least), tf.assign(high, most)
        return _rounded(values, low, high, bits.weights, delay, narrow=True)


def rounded_activations(
    name: str, values: Any, bits: Bits, training: bool, delay: int | None
) -> Any:
    """Rounds activations within a moving average of their ranges."""
    with tf.variable_scope(None, name, [values], reuse=False):
        low, high = _range()
        if training:
            low, high = (
                moving_averages.assign_moving_average(variable, value, _DECAY)
                for variable, value in zip(
                    (low, high), _extent(values, bits.symmetric), strict=True
                )
            )
        return _rounded(values, low, high, bits.activations, delay, narrow=bits.symmetric)


def _range() -> tuple[Any, Any]:
    return tuple(
        tf.get_variable(name, [], tf.float32, tf.constant_initializer(value), trainable=False)
        for name, value in (("min", -_START), ("max", _START))
    )  # type: ignore[return-value]


def _extent(values: Any, symmetric: bool) -> tuple[Any, Any]:
    # A range holds 0, so that 0 stays 0.
    least = tf.minimum(tf.reduce_min(values), 0.0)
    most = tf.maximum(tf.reduce_max(values), 0.0)
    if symmetric:
        most = tf.maximum(-least, most)
        least = -most
    return least, most


def _rounded(values: Any, low: Any, high: Any, bits: int, delay: int | None, narrow: bool) -> Any:
    low, high = tf.stop_gradient(low), tf.stop_gradient(high)
    result = tf.quantization.fake_quant_with_min_max_vars(values, low, high, bits, narrow)
    if not delay:
        return result
    # Both ways are there in every run, so that ranges are known when the delay is over.
    return tf.cond(tf.greater_equal(step(), delay), lambda: result, lambda: values)
