"""Writes words down for bash, so that the same words come out."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable

from moxing.errors import escaped


def joined(words: Iterable[str]) -> str:
    """Returns words as one line of bash, which steers no terminal; other shells may not know it.

    A word with a line end in quotes is one word to bash, but a line of its own to whoever reads the
    text line by line, as sbatch does.
    """
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if word == escaped(word):
        return shlex.quote(word)
    return "$'" + "".join(map(_character, os.fsencode(word))) + "'"


def _character(code: int) -> str:
    plain = 0x20 <= code < 0x7F and chr(code) not in "'\\"
    return chr(code) if plain else f"\\x{code:02x}"
