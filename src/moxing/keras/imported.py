"""Imports a dataset of the eager runtime into the graph of a run, operation by operation.

So the run knows the dataset's parts: it saves the place in them, and gives an order to shuffles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf2
import tensorflow.compat.v1 as tf

from moxing.engine.data import feed, order
from moxing.errors import MoxNotSupportedError
from moxing.keras.building.trace import eager_mode

_LARGE = 1 << 16  # Bytes of a constant that is kept out of the graph's definition.
# These datasets keep their state in a resource of the eager runtime; of the older kind, each has
# its own.
_OLDER = {
    "CacheDatasetV2": "CacheDataset",
    "ShuffleDatasetV3": "ShuffleDataset",
    "ShuffleAndRepeatDatasetV2": "ShuffleAndRepeatDataset",
}
_DRAWS = ("Shuffle", "Random", "Sample")


def dataset(made: Any) -> Any:
    """Imports a dataset; its shuffles without a seed get the order of the run.

    All processes read the same order, so that they can share each batch out.

    Raises:
        MoxNotSupportedError: TensorFlow can't take the dataset out of its eager runtime.
    """
    with eager_mode():
        spec = made.element_spec
        try:
            serialized = tf.raw_ops.DatasetToGraphV2(
                input_dataset=made._variant_tensor,
                external_state_policy=1,  # Ignore it: Python functions stay in this process.
                strip_device_assignment=True,
            ).numpy()
        except tf.errors.OpError as error:
            raise MoxNotSupportedError(
                "train_data is a dataset that TensorFlow can't take out of its eager runtime"
                f" ({error.message}). A dataset can have 2 GB of arrays: pass larger ones as"
                " arrays, not as a dataset."
            ) from error
    definition = tf.GraphDef.FromString(serialized)
    del serialized
    end = next(node for node in definition.node if node.op == "_Retval").input[0]
    _adapt(definition)
    with tf.device("/cpu:0"):
        arrays = {node.name: _array(node) for node in definition.node if _is_large(node)}
        kept = [node for node in definition.node if node.name not in arrays]
        del definition.node[:]
        definition.node.extend(kept)
        fed = {f"{name}:0": held(array) for name, array in arrays.items()}
        ends = tf.import_graph_def(
            definition, input_map=fed, return_elements=[_tensor(end)], name="train_data"
        )
    demand = feed.current()
    order.fix(demand.seed if demand.seed is not None else demand.order or 0, 0)
    return tf2.data.experimental.from_variant(ends[0], spec)


def draws() -> bool:
    """Whether the current graph draws random numbers, so that passes over a dataset may differ."""
    graph = tf.get_default_graph().as_graph_def()
    nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
    return any(part in node.op for node in nodes for part in _DRAWS)


def held(array: np.ndarray) -> tf.Tensor:
    """Returns an array as a tensor without storing it in the graph's definition."""
    with tf.device("/cpu:0"):
        tensor = tf.py_func(lambda: array, [], tf.as_dtype(array.dtype), name="array")
    tensor.set_shape(array.shape)
    return tensor


def _adapt(definition: tf.GraphDef) -> None:
    """Changes a graph that TensorFlow made of a dataset to one for a session."""
    kept = []
    for node in definition.node:
        if node.op in _OLDER:
            node.op = _OLDER[node.op]
            node.input.pop()
        if node.op != "_Retval":
            kept.append(node)
    read = {name.split(":")[0].lstrip("^") for node in kept for name in node.input}
    resource = tf.resource.as_datatype_enum
    kept = [
        node
        for node in kept
        if node.name in read or node.op != "Const" or node.attr["dtype"].type != resource
    ]
    del definition.node[:]
    definition.node.extend(kept)
    for node in (*definition.node, *(n for f in definition.library.function for n in f.node_def)):
        node.device = ""  # In a cluster, this process's device names change.


def _is_large(node: tf.NodeDef) -> bool:
    return node.op == "Const" and node.attr["value"].tensor.ByteSize() > _LARGE


def _array(node: tf.NodeDef) -> np.ndarray:
    return tf.make_ndarray(node.attr["value"].tensor)


def _tensor(name: str) -> str:
    return name if ":" in name else f"{name}:0"
