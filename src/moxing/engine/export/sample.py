"""Makes values to feed to an exported model, from only the dtypes and shapes of its inputs."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.job.signature import components

Feed = dict[str, Any]

_BATCH = 2
# Values for unknown dimensions, usually an image's width and height. Small ones are fast, but some
# networks need larger images.
_SIZES = (8, 64, 224)
_PNG = base64.b64decode(  # One gray pixel, for models that decode images.
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
)
_TEXTS = (b"0", _PNG)


def feeds(inputs: Mapping[str, tf.Tensor | tf.SparseTensor]) -> Iterator[Feed]:
    """Batches to feed, by tensor name; the caller tries one after another until one works.

    Floating-point numbers are below 1; integers are 0 or 1, which are valid indices of most tables.
    An unknown first dimension becomes 2; all other unknown dimensions of a batch get one size.
    """
    dtypes = [tensor.dtype.base_dtype for tensor in inputs.values()]
    texts = _TEXTS if tf.string in dtypes else _TEXTS[:1]
    unknown = any(_is_open(tensor.shape) for tensor in inputs.values())
    for size in _SIZES if unknown else _SIZES[:1]:
        for text in texts:
            random = np.random.default_rng(0)
            feed: Feed = {}
            for tensor in inputs.values():
                feed.update(_fed(tensor, size, text, random))
            yield feed


def _is_open(shape: tf.TensorShape) -> bool:
    return shape.rank is None or None in shape.as_list()[1:]


def _fed(
    tensor: tf.Tensor | tf.SparseTensor, size: int, text: bytes, random: np.random.Generator
) -> Feed:
    dims = _dims(tensor.shape, size)
    if not isinstance(tensor, tf.SparseTensor):
        return {tensor.name: _values(tensor.dtype, dims, text, random)}
    entries = 1 if all(dims) else 0
    values = (
        np.zeros([entries, len(dims)], np.int64),
        _values(tensor.dtype, [entries], text, random),
        np.array(dims, np.int64),
    )
    return {part.name: value for part, value in zip(components(tensor), values, strict=True)}


def _dims(shape: tf.TensorShape, size: int) -> list[int]:
    if shape.rank is None:
        return [_BATCH]
    known = shape.as_list()
    first = [_BATCH if known[0] is None else known[0]] if known else []
    return first + [size if dim is None else dim for dim in known[1:]]


def _values(
    dtype: tf.DType, dims: list[int], text: bytes, random: np.random.Generator
) -> np.ndarray:
    dtype = dtype.base_dtype
    if dtype == tf.string:
        return np.full(dims, text, object)
    if dtype.is_floating or dtype.is_complex:
        return random.random(dims).astype(dtype.as_numpy_dtype)
    return random.integers(0, 2, dims).astype(dtype.as_numpy_dtype)
