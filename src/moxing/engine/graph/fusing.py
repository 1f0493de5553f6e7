"""Keeps TensorFlow from fusing operations into ones that processes refuse to take from others."""

from __future__ import annotations

import tensorflow.compat.v1 as tf

# TensorFlow fuses a convolution with the bias and activation behind it into `_FusedConv2D`, also in
# bfloat16 on CPUs with instructions for it. The definition of that operation lacks bfloat16, which
# is looked at wherever a graph is sent to a process, so in every session of a server.
_FUSED = "Conv2D"


def configure(config: tf.ConfigProto, graph: tf.Graph) -> None:
    """Lets the session of a server run a graph that has convolutions in bfloat16."""
    outputs = (output for op in graph.get_operations() for output in op.outputs)
    if not any(output.dtype.base_dtype == tf.bfloat16 for output in outputs):
        return  # The definition of a large graph takes time to make.
    definition = graph.as_graph_def()
    nodes = [*definition.node, *(n for f in definition.library.function for n in f.node_def)]
    kinds = {node.attr["T"].type for node in nodes if node.op == _FUSED}
    if tf.bfloat16.as_datatype_enum in kinds:
        options = config.graph_options.rewrite_options
        options.remapping = options.OFF
