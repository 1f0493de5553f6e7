"""`tf.contrib.feature_column`: features that are sequences, for recurrent networks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.feature_column import feature_column as columns_of_1_x
from tensorflow.python.feature_column import sequence_feature_column

from moxing.errors import MoxValueError

__all__ = [
    "sequence_categorical_column_with_hash_bucket",
    "sequence_categorical_column_with_identity",
    "sequence_categorical_column_with_vocabulary_file",
    "sequence_categorical_column_with_vocabulary_list",
    "sequence_input_layer",
    "sequence_numeric_column",
]

_columns = tf.feature_column
sequence_categorical_column_with_hash_bucket = _columns.sequence_categorical_column_with_hash_bucket
sequence_categorical_column_with_identity = _columns.sequence_categorical_column_with_identity
sequence_categorical_column_with_vocabulary_file = (
    _columns.sequence_categorical_column_with_vocabulary_file
)
sequence_categorical_column_with_vocabulary_list = (
    _columns.sequence_categorical_column_with_vocabulary_list
)


class _Cache:
    """A cache of `tf.feature_column` 1.x, as the columns of today ask it."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def get(self, key: Any, state_manager: Any = None) -> Any:
        return self._cache.get(key)


class _Numbers(sequence_feature_column.SequenceNumericColumn, columns_of_1_x._SequenceDenseColumn):
    """A column of numbers that the functions of `tf.feature_column` 1.x take, too."""

    @property
    def _parse_example_spec(self) -> Any:
        return self.parse_example_spec

    @property
    def _variable_shape(self) -> Any:
        return self.variable_shape

    def _transform_feature(self, inputs: Any) -> Any:
        return self.transform_feature(_Cache(inputs), None)

    def _get_sequence_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return self.get_sequence_dense_tensor(_Cache(inputs), None)


def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: float = 0.0,
    dtype: Any = tf.float32,
    normalizer_fn: Any = None,
) -> Any:
    """Returns a column of numbers; see `tf.feature_column.sequence_numeric_column`."""
    made = _columns.sequence_numeric_column(key, shape, default_value, dtype, normalizer_fn)
    return _Numbers(*made)


def sequence_input_layer(
    features: Mapping[str, Any],
    feature_columns: Iterable[Any],
    weight_collections: Any = None,
    trainable: bool = True,
) -> tuple[Any, Any]:
    """Returns the columns' vectors of each step side by side, ordered by the columns' names.

    Args:
        features: sparse tensors by key, with a row for each example and a step in each place.
        feature_columns: `sequence_numeric_column`s, and embedding or indicator columns of the
            categorical ones.
        weight_collections: further collections of the variables.
        trainable: whether the embeddings are trained.

    Returns:
        The vectors [batch, steps, width], and the lengths [batch] of the sequences, int64.

    Raises:
        MoxValueError: a column is not a column of dense sequences.
    """
    chosen = [feature_columns] if hasattr(feature_columns, "name") else list(feature_columns)
    for column in chosen:
        if not hasattr(column, "_get_sequence_dense_tensor"):
            raise MoxValueError(
                f"{getattr(column, 'name', column)} is no column of dense sequences: put a"
                " categorical one into embedding_column or indicator_column."
            )
    with tf.variable_scope(None, "sequence_input_layer", list(features.values())):
        cache: Any = columns_of_1_x._LazyBuilder(dict(features))
        parts, lengths = [], []
        for column in sorted(chosen, key=lambda column: column.name):
            with tf.variable_scope(None, default_name=column._var_scope_name):
                dense, length = column._get_sequence_dense_tensor(
                    cache, weight_collections=weight_collections, trainable=trainable
                )
            width = column._variable_shape.num_elements()
            parts.append(tf.reshape(dense, [tf.shape(dense)[0], tf.shape(dense)[1], width]))
            lengths.append(length)
        equal = [tf.assert_equal(lengths[0], length) for length in lengths[1:]]
        with tf.control_dependencies(equal):
            return tf.concat(parts, -1), tf.identity(lengths[0])
