"""Aligns rows of text in columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from moxing.errors import escaped


def aligned(rows: Sequence[Sequence[str]], numbers: Collection[int]) -> str:
    """Returns the rows as lines of text, whatever names from outside the cells hold.

    Args:
        rows: the head and the other rows, all with the same number of cells.
        numbers: the positions of the columns that are aligned at the right.
    """
    rows = [[escaped(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if position in numbers else cell.ljust(width)
            for position, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
