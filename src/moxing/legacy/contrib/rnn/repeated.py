"""`MultiRNNCell`, in which one cell may stand for several layers, as before TensorFlow 1.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.compat.v1.nn import rnn_cell

from moxing.legacy.contrib.rnn.cell import Cell, unbuilt


class MultiRNNCell(Cell, rnn_cell.MultiRNNCell):
    """Layers of RNN cells; see `tf.nn.rnn_cell.MultiRNNCell` of TensorFlow 1.15.

    In `MultiRNNCell([cell] * 2)` the layers share the variables of the cell, as in TensorFlow 1.15,
    if their inputs have the same width. Else each layer has variables of its own, as before
    TensorFlow 1.1; TensorFlow 1.15 raised an error.
    """

    def call(self, inputs: tf.Tensor, state: Any) -> tuple[tf.Tensor, Any]:
        if len({id(cell) for cell in self._cells}) < len(self._cells):
            self._cells = _separated(self._cells, tf.dimension_value(inputs.shape[-1]))
        return super().call(inputs, state)


def _separated(cells: Sequence[Any], width: Any) -> list[Any]:
    """Returns the cells, with copies of those whose input differs from that of an earlier layer.

    Args:
        cells: RNN cells, from the first layer to the last.
        width: the last dimension of the first layer's input.
    """
    found = []
    widths: dict[int, Any] = {}
    for cell in cells:
        differs = widths.setdefault(id(cell), width) != width
        found.append(unbuilt(cell) if differs else cell)
        size = cell.output_size
        # The output of a convolutional cell has a shape, which says nothing about this.
        width = size if isinstance(size, int) else width
    return found
