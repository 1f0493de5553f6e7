"""Describes data and models for messages: structure, dtypes, shapes and names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf

PARTS = ("x", "y", "sample_weight")


def data(element: Any) -> str:
    """Describes the specs of a batch, as in `x: float32 (16, 8), y: int64 (16,)`."""
    parts = element if isinstance(element, tuple) else (element,)
    names = PARTS if len(parts) <= len(PARTS) else [f"part {n}" for n in range(len(parts))]
    told = [
        f"{name}: {nest(part)}"
        for name, part in zip(names, parts, strict=False)
        if part is not None
    ]
    return ", ".join(told)


def nest(part: Any) -> str:
    """Describes specs in a structure, as in `{'a': float32 (16, 8), 'b': [int64 (16,)]}`."""
    if isinstance(part, Mapping):
        return "{" + ", ".join(f"{key!r}: {nest(value)}" for key, value in part.items()) + "}"
    if isinstance(part, list | tuple):
        inner = ", ".join(nest(value) for value in part)
        return f"[{inner}]" if isinstance(part, list) else f"({inner})"
    if isinstance(part, tf.RaggedTensorSpec):
        return f"ragged {leaf(part.dtype, part._shape)}"
    if isinstance(part, tf.SparseTensorSpec):
        return f"sparse {leaf(part.dtype, part.shape)}"
    return leaf(part.dtype, part.shape)


def leaf(dtype: Any, shape: Any) -> str:
    """Describes a dtype and a shape, as in `float32 (None, 8)`."""
    sizes = tf.TensorShape(shape)
    told = "of unknown rank" if sizes.rank is None else str(tuple(sizes.as_list()))
    return f"{tf.as_dtype(dtype).name} {told}"


def inputs(model: Any) -> list[tuple[str, Any]]:
    """Returns the names and tensors of a model's inputs; empty if the model has none yet."""
    tensors = _flat(getattr(model, "inputs", None))
    names = getattr(model, "input_names", None) or [tensor.name for tensor in tensors]
    return list(zip(names, tensors, strict=False))


def outputs(model: Any) -> list[tuple[str, Any]]:
    """Returns the names and tensors of a model's outputs; empty if the model has none yet."""
    tensors = _flat(getattr(model, "outputs", None))
    names = getattr(model, "output_names", None) or [tensor.name for tensor in tensors]
    return list(zip(names, tensors, strict=False))


def takes(model: Any) -> str:
    """Describes a model, as in `the model takes float32 (None, 8) and gives (None, 3)`."""
    known = inputs(model)
    if not known:
        return f"the model, a {type(model).__name__}, does not say what it takes"
    taken = ", ".join(_named(name, tensor, len(known)) for name, tensor in known)
    given = outputs(model)
    made = ", ".join(
        f"{name} {tuple(t.shape)}" if len(given) > 1 else str(tuple(t.shape)) for name, t in given
    )
    return f"the model takes {taken} and gives {made}"


def loss(model: Any) -> str:
    """Returns the name of the model's loss; "" if the model has no loss or several."""
    given = getattr(model, "loss", None)
    if isinstance(given, Mapping | list | tuple):
        return ""
    if given is None or isinstance(given, str):
        return given or ""
    name = getattr(given, "name", None) or getattr(given, "__name__", type(given).__name__)
    return str(name)


def _named(name: str, tensor: Any, count: int) -> str:
    kind = "sparse " if getattr(tensor, "sparse", False) is True else ""
    told = kind + leaf(tensor.dtype, tensor.shape)
    return f"{name}: {told}" if count > 1 else told


def _flat(tensors: Any) -> list[Any]:
    return [] if tensors is None else list(tf.nest.flatten(tensors))
