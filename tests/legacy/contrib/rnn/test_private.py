"""Cells have the private attributes that programs' own subclasses of the time read."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing.legacy.face import catalog
from moxing.legacy.flags.command_line import CommandLine


@pytest.mark.parametrize("path", ["tensorflow.nn.rnn_cell", "tensorflow.contrib.rnn"])
def test_a_wrapper_knows_the_cell_within(path: str) -> None:
    faces = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())
    cells: Any = faces.load(path)
    cell = cells.GRUCell(3)

    class Own(cells.DropoutWrapper):
        def output_size_within(self) -> int:
            return self._cell.output_size

    assert Own(cell, 0.5).output_size_within() == 3
    for wrapped in (cells.ResidualWrapper(cell), cells.DeviceWrapper(cell, "/cpu:0")):
        assert wrapped._cell is cell

    class Replaces(cells.DropoutWrapper):
        def __init__(self, first: Any, second: Any) -> None:
            super().__init__(first)
            self._cell = second

    assert Replaces(cell, 5)._cell == 5


def test_a_cell_with_attention_knows_its_sizes() -> None:
    from moxing.legacy.contrib import rnn

    cell = rnn.AttentionCellWrapper(tf.nn.rnn_cell.GRUCell(3), 4, attn_vec_size=5)
    assert (cell._attn_length, cell._attn_vec_size) == (4, 5)
    embedding = rnn.EmbeddingWrapper(tf.nn.rnn_cell.GRUCell(3), 6, 7)
    assert (embedding._embedding_classes, embedding._embedding_size) == (6, 7)
