"""Calls a program's function so that its random numbers depend only on seed and sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph.rewrites import stateless


def call(
    function: Callable[..., Any], tensors: Sequence[Any], seed: int | None, number: tf.Tensor
) -> Any:
    """Calls `function(*tensors)` in the graph of a tf.data function.

    Args:
        function: a function that returns a tensor, or a list or tuple of tensors.
        tensors: the arguments of the function.
        seed: the seed of the run; None: random operations are left unchanged.
        number: the index of the sample or batch, an int64 scalar.
    """
    if seed is None or not all(isinstance(tensor, tf.Tensor) for tensor in tensors):
        return function(*tensors)
    try:
        graph, inputs, results = _trace(function, tensors)
    except (ValueError, TypeError):
        # The function uses tensors of the outer graph, or is wrong and raises its error here.
        return function(*tensors)
    graph_def = graph.as_graph_def()
    seeds = stateless.replace_in_function(graph_def, seed)
    if not seeds:
        return function(*tensors)
    given = {old.name: new for old, new in zip(inputs, tensors, strict=True)}
    given |= {name: tf.stack([tf.constant(key, tf.int64), number]) for name, key in seeds.items()}
    flat = tf.nest.flatten(results)
    made = tf.import_graph_def(graph_def, given, [item.name for item in flat], name="user")
    for old, new in zip(flat, made, strict=True):
        new.set_shape(old.shape)
    return tf.nest.pack_sequence_as(results, made)


def _trace(
    function: Callable[..., Any], tensors: Sequence[tf.Tensor]
) -> tuple[tf.Graph, list[tf.Tensor], Any]:
    with tf.Graph().as_default() as graph:
        inputs = [tf.placeholder(tensor.dtype, tensor.shape) for tensor in tensors]
        results = function(*inputs)
        return graph, inputs, tf.nest.map_structure(tf.convert_to_tensor, results)
