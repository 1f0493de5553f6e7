"""Placeholders that stand in for the training inputs in the export graph."""

from __future__ import annotations

import re
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import structure
from moxing.errors import MoxNotSupportedError


def placeholders(inputs: Any, batch_unknown: bool) -> Any:
    """Makes placeholders like the training inputs, in the current graph.

    Args:
        inputs: lists and dicts of tensors, as `structure.normalize` makes them. They usually belong
            to the training graph, which is not changed.
        batch_unknown: whether the first dimension is left unknown, so that the exported model takes
            batches of any size. Scalars have no dimension and stay as they are.

    Returns:
        The same structure of placeholders, with the dtypes and shapes of `inputs`.

    Raises:
        MoxNotSupportedError: a ragged tensor.
    """
    made = [_placeholder(path, leaf, batch_unknown) for path, leaf in structure.leaves(inputs)]
    return structure.replace(inputs, made)


def _placeholder(path: str, leaf: Any, batch_unknown: bool) -> tf.Tensor | tf.SparseTensor:
    if isinstance(leaf, tf.RaggedTensor):
        raise MoxNotSupportedError(
            f"{path} is a RaggedTensor, and a model with ragged inputs can't be exported."
            " Let input_fn return a dense tensor: ragged.to_tensor()."
        )
    shape = _open_batch(leaf.shape) if batch_unknown else leaf.shape
    make = tf.sparse.placeholder if isinstance(leaf, tf.SparseTensor) else tf.placeholder
    return make(leaf.dtype.base_dtype, _listed(shape), name=_op_name(path))


def _open_batch(shape: tf.TensorShape) -> tf.TensorShape:
    return tf.TensorShape([None]).concatenate(shape[1:]) if shape.rank else shape


def _listed(shape: tf.TensorShape) -> list[int | None] | None:
    return None if shape.rank is None else shape.as_list()


def _op_name(path: str) -> str:
    """The operation name for a path, without brackets: `inputs[0]['x']` becomes `inputs_0_x`."""
    return re.sub(r"[^A-Za-z0-9.]+", "_", path).strip("_.")
