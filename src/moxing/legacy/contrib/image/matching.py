"""`tf.contrib.image.bipartite_match`: pairs of rows and columns, the nearest pairs first."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf


def bipartite_match(
    distance_mat: Any, num_valid_rows: Any, top_k: int = -1, name: str | None = None
) -> tuple[Any, Any]:
    """Pairs rows with columns greedily: the least distance first, each row and column once.

    Args:
        distance_mat: a float tensor of shape [rows, columns].
        num_valid_rows: a scalar: only so many rows, from the first on, are paired. Negative: all.
        top_k: the most pairs to make. Negative: as many as there are valid rows or columns.
        name: the name of the operations.

    Returns:
        `row_to_col_match_indices`, an int32 tensor of shape [rows], and `col_to_row_match_indices`
        of shape [columns]: the partner of each row or column, or -1.
    """
    with tf.name_scope(name, "BipartiteMatch"):
        distances = tf.convert_to_tensor(distance_mat, tf.float32)
        rows, columns = tf.unstack(tf.shape(distances))
        valid = tf.reshape(tf.cast(num_valid_rows, tf.int32), [])
        valid = tf.where(valid < 0, rows, tf.minimum(valid, rows))
        pairs = tf.minimum(valid, columns)
        if top_k >= 0:
            pairs = tf.minimum(pairs, top_k)
        free = tf.tile((tf.range(rows) < valid)[:, None], [1, columns])

        def pair(done: Any, free: Any, of_rows: Any, of_columns: Any) -> tuple[Any, ...]:
            left = tf.where(free, distances, tf.fill([rows, columns], float("inf")))
            # A taken pair must not win over a free pair whose distance is infinite.
            nearest = tf.equal(left, tf.reduce_min(left)) & free
            place = tf.argmax(tf.cast(tf.reshape(nearest, [-1]), tf.int32), output_type=tf.int32)
            row, column = place // columns, place % columns
            in_row = tf.equal(tf.range(rows), row)
            in_column = tf.equal(tf.range(columns), column)
            return (
                done + 1,
                free & ~in_row[:, None] & ~in_column[None],
                tf.where(in_row, tf.fill([rows], column), of_rows),
                tf.where(in_column, tf.fill([columns], row), of_columns),
            )

        start = (0, free, tf.fill([rows], -1), tf.fill([columns], -1))
        _, _, of_rows, of_columns = tf.while_loop(
            lambda done, *_: done < pairs, pair, start, parallel_iterations=1, back_prop=False
        )
        of_rows.set_shape(distances.shape[:1])
        of_columns.set_shape(distances.shape[1:])
        return of_rows, of_columns
