"""Small functions that `tensorflow.python` lost, or that have other results there now."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session


def scalar() -> tf.TensorShape:
    """The shape of one number."""
    return tf.TensorShape([])


def vector(length: int | None) -> tf.TensorShape:
    """The shape of a vector."""
    return tf.TensorShape([length])


def matrix(rows: int | None, cols: int | None) -> tf.TensorShape:
    """The shape of a matrix."""
    return tf.TensorShape([rows, cols])


def unknown_shape(ndims: int | None = None) -> tf.TensorShape:
    """A shape of which at most the number of dimensions is known."""
    return tf.TensorShape(None) if ndims is None else tf.TensorShape([None] * ndims)


def unknown_shapes(op: tf.Operation) -> list[tf.TensorShape]:
    """The shape function of operations about whose outputs nothing is known."""
    return [tf.TensorShape(None) for _ in op.outputs]


def scalar_shapes(op: tf.Operation) -> list[tf.TensorShape]:
    """The shape function of operations whose outputs are single numbers."""
    return [tf.TensorShape([]) for _ in op.outputs]


def like_rnncell(cell: Any) -> bool:
    """Whether an object has the attributes of a cell that TensorFlow's recurrent networks use."""
    needed = ("output_size", "state_size", "zero_state")
    return callable(cell) and all(hasattr(cell, name) for name in needed)


def in_graph_mode() -> bool:
    """Whether operations are added to a graph, also while `tf.function` traces."""
    return not tf.executing_eagerly()


def variable(
    initial_value: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    validate_shape: bool = True,
    caching_device: Any = None,
    name: str | None = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Any = None,
    synchronization: Any = tf.VariableSynchronization.AUTO,
    aggregation: Any = tf.VariableAggregation.NONE,
) -> tf.Variable:
    """`tf.Variable`, with its arguments in an order of their own."""
    return tf.Variable(
        initial_value,
        trainable=trainable,
        collections=collections,
        validate_shape=validate_shape,
        caching_device=caching_device,
        name=name,
        dtype=dtype,
        use_resource=use_resource,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


@functools.cache
def get_registered_ops() -> dict[str, op_def_pb2.OpDef]:
    """The definitions of all operations, by name: one dict, to which programs add their own."""
    buffer = pywrap_tf_session.TF_GetAllOpList()
    listed = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(buffer))
    return {definition.name: definition for definition in listed.op}


def register_op_list(op_list: op_def_pb2.OpList) -> None:
    """Adds definitions to `get_registered_ops()`."""
    get_registered_ops().update({definition.name: definition for definition in op_list.op})


def register_dense_tensor_like_type(tensor_type: type) -> None:
    """Checks the class: TensorFlow takes any whose conversion to a tensor is registered.

    Raises:
        TypeError: the class lacks the property `name` or `dtype`.
    """
    for name in ("name", "dtype"):
        if not isinstance(getattr(tensor_type, name, None), property):
            raise TypeError(
                f"the class {tensor_type.__name__} stands for tensors and so needs a property "
                f"{name!r}."
            )


def set_shapes_for_outputs(op: tf.Operation) -> None:
    """Does nothing: since 1.8, an operation gets the shapes of its outputs as it is made."""
    del op
