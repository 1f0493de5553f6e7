"""`tf.contrib.layers`' feature columns, as columns of `tf.feature_column`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError

# The key of features that are one tensor without a name.
ONLY = "features"

_columns = tf.feature_column


def real_valued_column(
    column_name: str,
    dimension: int | None = 1,
    default_value: Any = None,
    dtype: Any = tf.float32,
    normalizer: Any = None,
) -> Any:
    """Returns a numeric column of `dimension` numbers."""
    if dimension is None:
        raise MoxNotSupportedError(
            f"real_valued_column({column_name!r}, dimension=None) is not supported: a numeric"
            " column has a fixed number of values. Give its dimension."
        )
    return _columns.numeric_column(
        column_name or ONLY, (dimension,), default_value, dtype, normalizer
    )


def sparse_column_with_keys(
    column_name: str,
    keys: Sequence[Any],
    default_value: int = -1,
    combiner: str = "sum",
    dtype: Any = tf.string,
) -> Any:
    """Returns a categorical column of the listed values."""
    del combiner
    return _columns.categorical_column_with_vocabulary_list(
        column_name, list(keys), dtype, default_value
    )


def sparse_column_with_vocabulary_file(
    column_name: str,
    vocabulary_file: str,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    combiner: str = "sum",
    dtype: Any = tf.string,
) -> Any:
    """Returns a categorical column of the values that a file lists, one a line."""
    del combiner
    return _columns.categorical_column_with_vocabulary_file(
        column_name,
        vocabulary_file,
        vocab_size,
        num_oov_buckets,
        None if num_oov_buckets else default_value,
        dtype,
    )


def sparse_column_with_hash_bucket(
    column_name: str,
    hash_bucket_size: int,
    combiner: str = "sum",
    dtype: Any = tf.string,
    hash_keys: Any = None,
) -> Any:
    """Returns a categorical column whose values are hashed into buckets."""
    del combiner, hash_keys
    return _columns.categorical_column_with_hash_bucket(column_name, hash_bucket_size, dtype)


def sparse_column_with_integerized_feature(
    column_name: str, bucket_size: int, combiner: str = "sum", dtype: Any = tf.int64
) -> Any:
    """Returns a categorical column of the integers below `bucket_size`."""
    del combiner, dtype
    return _columns.categorical_column_with_identity(column_name, bucket_size)


def weighted_sparse_column(
    sparse_id_column: Any, weight_column_name: str, dtype: Any = tf.float32, trainable: bool = True
) -> Any:
    """Returns a categorical column with a weight for each value."""
    del trainable
    return _columns.weighted_categorical_column(sparse_id_column, weight_column_name, dtype)


def one_hot_column(sparse_id_column: Any) -> Any:
    """Returns a dense column with one number for each category."""
    return _columns.indicator_column(sparse_id_column)


def embedding_column(
    sparse_id_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> Any:
    """Returns a dense column with a trained vector for each category."""
    return _columns.embedding_column(
        sparse_id_column,
        dimension,
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )


def bucketized_column(source_column: Any, boundaries: Iterable[float]) -> Any:
    """Returns a column of the ranges that a number falls into."""
    return _columns.bucketized_column(source_column, sorted({*boundaries}))


def crossed_column(
    columns: Iterable[Any],
    hash_bucket_size: int,
    combiner: str = "sum",
    hash_key: int | None = None,
) -> Any:
    """Returns a categorical column of the combinations of values, hashed into buckets."""
    del combiner
    # tf.feature_column crosses a hashed column's own strings, by its key.
    keys = [
        column.key if hasattr(column, "hash_bucket_size") and hasattr(column, "key") else column
        for column in columns
    ]
    return _columns.crossed_column(keys, hash_bucket_size, hash_key)


def create_feature_spec_for_parsing(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """Returns how to parse the columns' features from `tf.train.Example`s."""
    return _columns.make_parse_example_spec(list(feature_columns))


def parse_feature_columns_from_examples(
    serialized: Any, feature_columns: Iterable[Any], name: str | None = None, **others: Any
) -> dict[Any, Any]:
    """Parses the columns' features from serialized `tf.train.Example`s."""
    del others
    return tf.parse_example(serialized, create_feature_spec_for_parsing(feature_columns), name=name)


def input_from_feature_columns(
    columns_to_tensors: Mapping[str, Any],
    feature_columns: Iterable[Any],
    weight_collections: Any = None,
    trainable: bool = True,
    scope: str | None = None,
) -> Any:
    """Returns the dense columns' values side by side, as one tensor [batch, width]."""
    with tf.variable_scope(scope, default_name="input_from_feature_columns"):
        return _columns.input_layer(
            dict(columns_to_tensors), current(feature_columns), weight_collections, trainable
        )


def weighted_sum_from_feature_columns(
    columns_to_tensors: Mapping[str, Any],
    feature_columns: Iterable[Any],
    num_outputs: int,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: str | None = None,
) -> tuple[Any, dict[Any, Any], Any]:
    """Returns a linear model of the columns.

    Returns:
        The outputs [batch, num_outputs], a dict from columns to their variables, and the bias.
    """
    columns = current(feature_columns)
    variables: dict[Any, Any] = {}
    with tf.variable_scope(scope, default_name="weighted_sum_from_feature_columns"):
        outputs = _columns.linear_model(
            dict(columns_to_tensors),
            columns,
            num_outputs,
            weight_collections=weight_collections,
            trainable=trainable,
            cols_to_vars=variables,
        )
    bias = variables.pop("bias", None)
    return outputs, variables, bias[0] if isinstance(bias, list) else bias


def infer_real_valued_columns_from_input(x: Any) -> list[Any]:
    """Returns the numeric columns of an array [samples, numbers], or of a dict of such arrays."""
    return _inferred(dict(x) if isinstance(x, Mapping) else {ONLY: np.asarray(x)})


def infer_real_valued_columns_from_input_fn(input_fn: Any) -> list[Any]:
    """Returns the numeric columns of the features of an input function."""
    with tf.Graph().as_default():
        made = input_fn()
        if isinstance(made, tf.data.Dataset):
            made = tf.data.get_output_shapes(made)
        features = made[0] if isinstance(made, tuple | list) else made
        return _inferred(dict(features) if isinstance(features, Mapping) else {ONLY: features})


def _inferred(features: Mapping[str, Any]) -> list[Any]:
    columns = []
    for name, value in features.items():
        shape = [int(size) for size in getattr(value, "shape", value)[1:]]
        columns.append(real_valued_column(name, int(np.prod(shape or [1]))))
    return columns


def current(columns: Any) -> list[Any]:
    """Returns the columns as a list; a single column may be given alone."""
    return list(columns) if isinstance(columns, list | tuple | set | frozenset) else [columns]
