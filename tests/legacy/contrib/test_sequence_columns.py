"""`tf.contrib.feature_column`, and the embeddings of `tf.contrib.layers`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.legacy.contrib import framework, nn
from moxing.legacy.contrib.learn import sequence_columns


def _features() -> dict[str, Any]:
    """Two examples: of two steps and of one."""
    places = [[0, 0], [0, 1], [1, 0]]
    return {
        "rating": tf.SparseTensor(places, [1.0, 2.0, 3.0], [2, 2]),
        "word": tf.SparseTensor(places, tf.constant([1, 0, 2], tf.int64), [2, 2]),
    }


def test_steps_have_the_columns_side_by_side() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        words = sequence_columns.sequence_categorical_column_with_identity("word", 3)
        columns = [
            tf.feature_column.embedding_column(words, 2),
            sequence_columns.sequence_numeric_column("rating"),
        ]
        layer, lengths = sequence_columns.sequence_input_layer(_features(), columns)
        (variable,) = tf.trainable_variables()
        assert variable.op.name == "sequence_input_layer/word_embedding/embedding_weights"
        session.run(tf.global_variables_initializer())
        table, steps, counts = session.run([variable, layer, lengths])
    # rating comes before word_embedding.
    expected = np.zeros((2, 2, 3), np.float32)
    for example, step, rating, word in [(0, 0, 1, 1), (0, 1, 2, 0), (1, 0, 3, 2)]:
        expected[example, step] = [rating, *table[word]]
    assert np.allclose(steps, expected)
    assert counts.tolist() == [2, 1]


def test_numbers_are_parsed_from_examples_as_sequences_of_any_length() -> None:
    column = sequence_columns.sequence_numeric_column("rating")
    spec = tf.feature_column.make_parse_example_spec([column])
    assert spec == {"rating": tf.VarLenFeature(tf.float32)}


def test_columns_that_are_no_dense_sequences_are_refused() -> None:
    with tf.Graph().as_default():
        words = sequence_columns.sequence_categorical_column_with_identity("word", 3)
        with pytest.raises(MoxValueError, match="embedding_column"):
            sequence_columns.sequence_input_layer(_features(), words)


def test_sequences_of_unequal_lengths_end_the_run() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        features = _features()
        features["other"] = tf.SparseTensor([[0, 0], [1, 0]], [1.0, 1.0], [2, 2])
        columns = [sequence_columns.sequence_numeric_column(key) for key in ("rating", "other")]
        layer, _ = sequence_columns.sequence_input_layer(features, columns)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(layer)


@pytest.mark.parametrize("sparse_lookup", [True, False])
def test_bow_encoder_is_the_mean_of_the_vectors(sparse_lookup: bool) -> None:
    ids = np.array([[1, 2, 0], [0, 0, 0], [3, 3, 1]])
    with tf.Graph().as_default(), tf.Session() as session:
        encoded = nn.bow_encoder(tf.constant(ids), 4, 5, sparse_lookup)
        (variable,) = tf.trainable_variables()
        assert variable.op.name == "bow_encoder/embeddings"
        session.run(tf.global_variables_initializer())
        table, got = session.run([variable, encoded])
    kept = [[1, 2], [0], [3, 3, 1]] if sparse_lookup else ids
    assert np.allclose(got, [table[row].mean(axis=0) for row in kept], atol=1e-6)


def test_bow_encoder_tells_of_sizes_and_sparse_ids() -> None:
    with tf.Graph().as_default():
        with pytest.raises(MoxValueError, match="vocab_size"):
            nn.bow_encoder(tf.constant([[1]]), 0, 3)
        with pytest.raises(MoxValueError, match="not sparse"):
            nn.bow_encoder(_features()["word"], 3, 3, sparse_lookup=False)


def test_equal_ids_are_looked_up_together_with_the_same_gradient() -> None:
    table, ids = np.arange(10.0).reshape(5, 2), np.array([[1, 1, 4], [2, 1, 0]])
    with tf.Graph().as_default(), tf.Session() as session:
        params = tf.constant(table)
        rows = nn.embedding_lookup_unique(params, tf.constant(ids))
        assert rows.shape == (2, 3, 2)
        assert nn.embedding_lookup_unique(params, tf.placeholder(tf.int32)).shape.rank is None
        gradient = tf.convert_to_tensor(tf.gradients(rows, params)[0])
        got, counts = session.run([rows, gradient])
    assert np.array_equal(got, table[ids])
    assert np.array_equal(counts, np.repeat([[1.0], [3.0], [1.0], [0.0], [1.0]], 2, axis=1))


def test_zero_initializer_fills_a_reference() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable([1.0, 2.0], use_resource=False)
        zeros = framework.zero_initializer(variable)
        session.run(tf.global_variables_initializer())
        assert session.run(zeros).tolist() == [0.0, 0.0]
        assert session.run(variable).tolist() == [0.0, 0.0]
