"""`tf.contrib.lookup`: tables with their old arguments, such as `mapping=`."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import lookup_ops
from tensorflow.python.ops.lookup_ops import (
    FastHashSpec,
    HasherSpec,
    IdTableWithHashBuckets,
    KeyValueTensorInitializer,
    LookupInterface,
    StrongHashSpec,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileInitializer,
    TextFileStringTableInitializer,
    index_table_from_file,
    index_to_string_table_from_file,
)

from moxing.errors import MoxValueError

__all__ = [
    "FastHashSpec",
    "HashTable",
    "HasherSpec",
    "IdTableWithHashBuckets",
    "KeyValueTensorInitializer",
    "LookupInterface",
    "MutableDenseHashTable",
    "MutableHashTable",
    "StrongHashSpec",
    "TextFileIdTableInitializer",
    "TextFileIndex",
    "TextFileInitializer",
    "TextFileStringTableInitializer",
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
    "string_to_index",
    "string_to_index_table_from_file",
    "string_to_index_table_from_tensor",
]

MutableHashTable = lookup_ops.MutableHashTable
string_to_index_table_from_file = index_table_from_file


class HashTable(lookup_ops.StaticHashTableV1):
    """An immutable table; `init` is the operation that fills it."""

    def __init__(
        self,
        initializer: Any,
        default_value: Any,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(initializer, default_value, name=name)

    @property
    def init(self) -> Any:
        """The operation that fills the table."""
        return self.initializer


class MutableDenseHashTable(lookup_ops.DenseHashTable):
    """A mutable table in a dense tensor; deletions mark a key with `deleted_key`."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        initial_num_buckets: int | None = None,
        shared_name: str | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        deleted_key: Any = None,
    ) -> None:
        if deleted_key is None:
            deleted_key = _another(key_dtype, empty_key)
        super().__init__(
            key_dtype,
            value_dtype,
            default_value,
            empty_key,
            deleted_key,
            initial_num_buckets=initial_num_buckets,
            name=name,
            checkpoint=checkpoint,
        )


def _another(key_dtype: Any, empty_key: Any) -> Any:
    """Returns a key that differs from the empty key and that programs hardly use."""
    if tf.as_dtype(key_dtype) == tf.string:
        return tf.fill(tf.shape(empty_key), "\0deleted")
    return tf.cast(empty_key, key_dtype) - tf.ones_like(tf.cast(empty_key, key_dtype))


def index_table_from_tensor(
    mapping: Any = None,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = FastHashSpec,
    dtype: Any = tf.string,
    name: str | None = None,
    vocabulary_list: Any = None,
) -> Any:
    """Returns a table from the keys of a list to their indices.

    Args:
        mapping: the keys, a list or a tensor.
        num_oov_buckets: the number of indices after the list for unknown keys.
        default_value: the index of unknown keys if there are no such buckets.
        hasher_spec: the hash function that selects the bucket.
        dtype: the dtype of the keys.
        name: the name of the operations.
        vocabulary_list: another name of `mapping`.
    """
    return lookup_ops.index_table_from_tensor(
        _given(mapping, vocabulary_list), num_oov_buckets, default_value, hasher_spec, dtype, name
    )


string_to_index_table_from_tensor = index_table_from_tensor


def index_to_string_table_from_tensor(
    mapping: Any = None,
    default_value: str = "UNK",
    name: str | None = None,
    vocabulary_list: Any = None,
) -> Any:
    """Returns a table from indices to the strings of a list; see `index_table_from_tensor`."""
    given = _given(mapping, vocabulary_list)
    return lookup_ops.index_to_string_table_from_tensor(given, default_value, name)


def string_to_index(
    tensor: Any, mapping: Any, default_value: int = -1, name: str | None = None
) -> Any:
    """Returns the indices of strings in a list; `tf.tables_initializer()` fills the table."""
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


def index_to_string(
    tensor: Any, mapping: Any, default_value: str = "UNK", name: str | None = None
) -> Any:
    """Returns the strings at indices of a list; `tf.tables_initializer()` fills the table."""
    places = tf.cast(tensor, tf.int64)
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(places)


def _given(mapping: Any, vocabulary_list: Any) -> Any:
    found = vocabulary_list if mapping is None else mapping
    if found is None:
        raise MoxValueError("mapping must be specified.")
    return found
