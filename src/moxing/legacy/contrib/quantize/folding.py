"""Folds fused batch norms into the weights of the layers before them."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.legacy.contrib.quantize.layers import context, layers, reroute
from moxing.legacy.contrib.quantize.ranges import step

_NORMS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")


def fold_batch_norms(graph: Any, freeze_delay: int | None, scope: str | None) -> None:
    """Computes each layer that a fused batch norm follows with weights that hold its factors.

    Args:
        graph: the graph to change.
        freeze_delay: steps after which norms of a training use moving averages; None: never.
        scope: only layers under this name scope are changed; None: all.
    """
    for op in list(layers(graph, scope)):
        readers = op.outputs[0].consumers()
        norm = readers[0] if len(readers) == 1 else None
        if norm is not None and norm.type in _NORMS and norm.inputs[0] is op.outputs[0]:
            _fold(graph, op, norm, freeze_delay)


def _fold(graph: Any, op: Any, norm: Any, freeze_delay: int | None) -> None:
    with tf.name_scope(f"{context(norm)}_Fold/"):
        found = _statistics(graph, op, norm, freeze_delay)
        if found is None:
            return
        scale_var, mean, var = found
        gamma, beta, epsilon = norm.inputs[1], norm.inputs[2], norm.get_attr("epsilon")
        # The weights hold moving averages, as they do once the network is deployed; what the
        # statistics of a batch differ from them corrects the output.
        factor = gamma * tf.rsqrt(scale_var + epsilon)
        weights = op.inputs[1]
        if op.type == "DepthwiseConv2dNative":
            weights = tf.multiply(weights, tf.reshape(factor, weights.shape[2:]), "mul_fold")
        else:
            weights = tf.multiply(weights, factor, "mul_fold")
        folded = graph.create_op(
            op.type,
            [op.inputs[0], weights],
            [output.dtype for output in op.outputs],
            name=f"{op.name}_Fold/",
            attrs=dict(op.node_def.attr),
        ).outputs[0]
        if var is not scale_var:
            correction = tf.sqrt(scale_var + epsilon) * tf.rsqrt(var + epsilon)
            folded = folded * _spread(correction, op)
        bias = beta - mean * gamma * tf.rsqrt(var + epsilon)
        output = tf.add(folded, _spread(bias, op), "add_fold")
    reroute(norm.outputs[0], output)


def _statistics(graph: Any, op: Any, norm: Any, freeze_delay: int | None) -> Any:
    # The variance in the weights, and mean and variance of what is normalized.
    if not norm.get_attr("is_training"):
        return norm.inputs[4], norm.inputs[3], norm.inputs[4]
    moving = [_moving(graph, norm, name) for name in ("moving_mean", "moving_variance")]
    if None in moving:
        return None
    # The norm returns these, too, but passes no gradient back through them.
    axes = [0] if op.type == "MatMul" else [0, 2, 3] if _channels_first(op) else [0, 1, 2]
    mean, var = tf.nn.moments(op.outputs[0], axes)
    if freeze_delay is not None:
        frozen = tf.greater_equal(step(), freeze_delay)
        mean = tf.where(frozen, moving[0], mean)
        var = tf.where(frozen, moving[1], var)
    return moving[1], mean, var


def _moving(graph: Any, norm: Any, name: str) -> Any:
    # The moving averages lie beside the offset of the norm.
    beta = norm.inputs[2]
    while beta.op.inputs:
        beta = beta.op.inputs[0]
    wanted = f"{beta.op.name.rpartition('/')[0]}/{name}"
    variables = graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)
    found = [variable for variable in variables if variable.op.name == wanted]
    return tf.identity(found[0]) if found else None


def _channels_first(op: Any) -> bool:
    return op.type != "MatMul" and op.get_attr("data_format") == b"NCHW"


def _spread(channels: Any, op: Any) -> Any:
    return tf.reshape(channels, [1, -1, 1, 1]) if _channels_first(op) else channels
