"""`tf.contrib.quantize`: rewrites a graph so that it trains, or runs, as its 8 bits will."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.legacy.contrib.quantize.folding import fold_batch_norms
from moxing.legacy.contrib.quantize.inserting import quantize
from moxing.legacy.contrib.quantize.ranges import Bits

FREEZE_BN_DELAY = 200_000  # steps, of create_training_graph in TensorFlow 1.15


def create_training_graph(input_graph: Any = None, quant_delay: int = 0) -> None:
    """Makes layers of a graph compute with weights and activations of 8 bits as they train.

    Layers are Conv2D, DepthwiseConv2dNative and MatMul with a variable as weights. Fused batch
    norms that follow a layer are folded into its weights; after 200,000 steps they use their
    moving averages. Call it before gradients are added to the graph.

    Args:
        input_graph: the graph; default: the default graph.
        quant_delay: steps before values are rounded; until then the network trains in float32.
    """
    _rewrite(input_graph, Bits(), quant_delay, FREEZE_BN_DELAY, training=True)


def create_eval_graph(input_graph: Any = None) -> None:
    """Makes layers of a graph compute with 8 bits, by the ranges that a training has found.

    Args:
        input_graph: the graph, to which a checkpoint of the training graph is restored; default:
            the default graph.
    """
    _rewrite(input_graph, Bits(), None, None, training=False)


def experimental_create_training_graph(
    input_graph: Any = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int = 0,
    freeze_bn_delay: int | None = FREEZE_BN_DELAY,
    scope: str | None = None,
) -> None:
    """`create_training_graph` with further choices.

    Args:
        input_graph: the graph; default: the default graph.
        weight_bits: bits of a weight, from 2 to 16.
        activation_bits: bits of an activation, from 2 to 16.
        symmetric: whether ranges lie symmetrically around 0.
        quant_delay: steps before values are rounded.
        freeze_bn_delay: steps before batch norms use their moving averages; None: they never do.
        scope: only layers under this name scope are changed; default: all.
    """
    bits = Bits(weight_bits, activation_bits, symmetric)
    _rewrite(input_graph, bits, quant_delay, freeze_bn_delay, training=True, scope=scope)


def experimental_create_eval_graph(
    input_graph: Any = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int | None = None,
    scope: str | None = None,
) -> None:
    """`create_eval_graph` with further choices: see `experimental_create_training_graph`.

    Args:
        input_graph: the graph; default: the default graph.
        weight_bits: bits of a weight, from 2 to 16.
        activation_bits: bits of an activation, from 2 to 16.
        symmetric: whether ranges lie symmetrically around 0.
        quant_delay: steps before values are rounded; None: they are rounded at once.
        scope: only layers under this name scope are changed; default: all.
    """
    bits = Bits(weight_bits, activation_bits, symmetric)
    _rewrite(input_graph, bits, quant_delay, None, training=False, scope=scope)


def _rewrite(
    graph: Any,
    bits: Bits,
    quant_delay: int | None,
    freeze_bn_delay: int | None,
    training: bool,
    scope: str | None = None,
) -> None:
    graph = graph or tf.get_default_graph()
    with graph.as_default():
        fold_batch_norms(graph, freeze_bn_delay, scope)
        quantize(graph, bits, quant_delay, training, scope)
