"""Reads and writes the names of classes, and attaches them to a graph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import tensorflow.compat.v1 as tf

from moxing.engine.graph import run_context
from moxing.errors import MoxValueError
from moxing.framework import atomic
from moxing.framework.classes import as_text, check_folders, parse
from moxing.logs import TENSORFLOW
from moxing.tensorflow.datasets import storage

__all__ = [
    "announce",
    "announced",
    "as_text",
    "check_folders",
    "describe",
    "parse",
    "read",
    "warn_of_numbers",
    "write",
]

_SHOWN = 10
LARGEST = 64 << 20  # Bytes of a file of labels.


def read(path: str) -> list[str] | None:
    """Returns the names in a labels file, or None if there is none. Raises MoxValueError."""
    try:
        return parse(storage.read(path, LARGEST).decode(), path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MoxValueError(f"{path} can't be read: {storage.reason(error)}.") from error
    except UnicodeDecodeError as error:
        raise MoxValueError(f"{path} is not UTF-8 text: {error}. Save it as UTF-8.") from error


def warn_of_numbers(folders: Sequence[str]) -> None:
    """Logs a warning if class folders with numbers in their names are not in numeric order."""
    natural = sorted(folders, key=_by_number)
    differ = [label for label, folder in enumerate(folders) if folder != natural[label]]
    if not differ:
        return
    first = differ[0]
    TENSORFLOW.warning(
        "The class folders are in the order of text, not of numbers: label %d is %r, not %r. If"
        " that is not meant, write labels.txt with lines such as `%d: %s`.",
        first,
        folders[first],
        natural[first],
        first,
        natural[first],
    )


def _by_number(name: str) -> list[tuple[int, int, str]]:
    parts = re.split(r"(\d+)", name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part]


def describe(names: Sequence[str]) -> str:
    """Describes classes, as in `0: daisy, 1: roses`; shortens a long list."""
    pairs = [f"{label}: {name}" for label, name in enumerate(names)]
    if len(pairs) > _SHOWN + 2:
        pairs = [*pairs[:_SHOWN], "...", pairs[-1]]
    return ", ".join(pairs)


def announce(names: Sequence[str]) -> None:
    """Stores the names in the current graph, for `announced`."""
    run_context.current().label_names.append(tuple(names))


def announced(graph: tf.Graph) -> tuple[str, ...] | None:
    """Returns the class names that the graph's readers share; None if there are none or several."""
    found = set(run_context.of_graph(graph).label_names)
    return found.pop() if len(found) == 1 else None


def write(names: Sequence[str], path: Path) -> None:
    """Writes a labels file, unless it exists with this content."""
    content = as_text(names)
    try:
        if path.read_text(encoding="utf-8") == content:
            return
    except (OSError, UnicodeDecodeError):
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    # Under a name that nobody guesses: in a folder of several users, a link may stand at others.
    atomic.replace(str(path), [content.encode()])
