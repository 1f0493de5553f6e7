"""Parses a ported program so that errors name the lines of the original file."""

from __future__ import annotations

import ast
import difflib


def parsed(ported: str, original: str, path: str) -> ast.Module:
    """Returns the tree of `ported`, with the line numbers of `original`.

    Args:
        ported: a program of Python 3.
        original: the text from which `ported` was made, nearly line by line.
        path: the file that tracebacks name.

    Raises:
        SyntaxError: the ported program is not Python 3.
    """
    tree = ast.parse(ported, path)
    number = _numbers(original.split("\n"), ported.split("\n"))
    for node in ast.walk(tree):
        line = getattr(node, "lineno", None)
        if line is not None:
            node.lineno = number[line - 1]  # type: ignore[attr-defined]
            # The error's columns belong to the ported text.
            node.end_lineno = node.lineno  # type: ignore[attr-defined]
            node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
    return tree


def _numbers(original: list[str], ported: list[str]) -> list[int]:
    """Returns the number of the original line for each line of `ported`, counted from 1."""
    numbers = [1] * len(ported)
    matcher = difflib.SequenceMatcher(None, original, ported, autojunk=False)
    for _, first, last, start, end in matcher.get_opcodes():
        for place in range(start, end):
            numbers[place] = max(1, min(first + place - start, max(last - 1, first)) + 1)
    most = len(original)
    return [min(number, most) for number in numbers]
