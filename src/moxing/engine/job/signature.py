"""The inputs and outputs of an exported model, and their description in SavedModel's own format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf


@dataclass(frozen=True)
class ExportSignature:
    """The named inputs and outputs of the exported model.

    Attributes:
        inputs: tensors that a client feeds, by the name the client uses. Usually inputs of the
            model function, but any tensor of the export graph can be fed.
        outputs: tensors that a client gets back, by name.
        version: name of the directory inside the log directory: a number, as TensorFlow Serving
            requires; -1 for the largest number there plus one; or any other name.
    """

    inputs: Mapping[str, tf.Tensor]
    outputs: Mapping[str, tf.Tensor]
    version: int | str = -1


def signature_def(signature: ExportSignature) -> Any:
    """The `SignatureDef` that prediction services read."""
    return tf.saved_model.build_signature_def(
        inputs={name: _tensor_info(tensor) for name, tensor in signature.inputs.items()},
        outputs={name: _tensor_info(tensor) for name, tensor in signature.outputs.items()},
        method_name=tf.saved_model.PREDICT_METHOD_NAME,
    )


def components(tensor: tf.Tensor | tf.SparseTensor) -> list[tf.Tensor]:
    """The plain tensors that a session feeds or fetches for `tensor`."""
    return tf.nest.flatten(tensor, expand_composites=True)


def _tensor_info(tensor: tf.Tensor | tf.SparseTensor) -> Any:
    # TensorFlow's own build_tensor_info does the same, and warns that it is deprecated.
    about = {
        "dtype": tensor.dtype.base_dtype.as_datatype_enum,
        "tensor_shape": tensor.shape.as_proto(),
    }
    if isinstance(tensor, tf.SparseTensor):
        names = tf.TensorInfo.CooSparse(
            values_tensor_name=tensor.values.name,
            indices_tensor_name=tensor.indices.name,
            dense_shape_tensor_name=tensor.dense_shape.name,
        )
        return tf.TensorInfo(coo_sparse=names, **about)
    return tf.TensorInfo(name=tensor.name, **about)
