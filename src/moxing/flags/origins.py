"""Knows which flags stand in a file of `mox run --config`, so that messages name the file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

# The files are a part of the command line of the process, as the values of the flags are.
_WORDS: Final[list[tuple[str, str]]] = []
_NAMED: Final = re.compile(r"(?<![\w-])--?([A-Za-z_][\w-]*)")


def note(path: str, words: Sequence[str]) -> None:
    """Records that these words of the command line come from a file."""
    _WORDS.extend((word, path) for word in words)


def forget() -> None:
    """Forgets all files."""
    _WORDS.clear()


def names() -> list[str]:
    """Returns the names of the flags in all files, without dashes."""
    return [word.lstrip("-").partition("=")[0] for word, _ in _WORDS if word.startswith("-")]


def of(name: str, text: str | None = None) -> str:
    """Returns the file that a flag stands in.

    Args:
        name: the name of the flag, without dashes.
        text: the value that a message is about; None if the message is about the name.

    Returns:
        The path; empty if the flag, or this value of the flag, was typed.
    """
    for number, (word, path) in enumerate(_WORDS):
        behind = _WORDS[number + 1][0] if number + 1 < len(_WORDS) else ""
        given, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or given != name:
            continue
        if text in (None, value if equals else behind):
            return path
    return ""


def prefix(name: str, text: str | None = None) -> str:
    """Returns the beginning of a message about a flag: `run.yaml: `, or nothing if it was typed."""
    path = of(name, text)
    return f"{path}: " if path else ""


def about(message: str) -> str:
    """Returns a message of another parser with the files of the flags that the message names."""
    found = {name: of(name) for name in _NAMED.findall(message)}
    said = [f"--{name} stands in {path}" for name, path in found.items() if path]
    return f"{message} ({', '.join(said)})" if said else message


def wants_quotes(name: str) -> str:
    """Returns advice for a flag without a value whose file has a word that YAML reads as true."""
    path = of(name)
    if not path or f"--{name}" not in (word for word, _ in _WORDS):
        return ""
    return f' In {path}, true, yes and on are flags without a value: write {name}: "yes" for text.'
