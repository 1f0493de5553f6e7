"""Reads and writes the names of classes, and attaches them to a graph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError, near_matches
from moxing.logs import TENSORFLOW
from moxing.tensorflow.datasets import storage

_ANNOUNCED = "openmox/labels"
_LINE = re.compile(r"\s*(\d+)\s*:\s*(.*?)\s*$")
_IN_ONE_LINE = re.compile(r"(?:^|\s)(\d+)\s*:\s*(\S+)")
_SHOWN = 10
_FORMAT = "One class a line, numbered from 0: `0: daisy`."


def read(path: str) -> list[str] | None:
    """Returns the names in a labels file, or None if there is none. Raises MoxValueError."""
    try:
        return parse(storage.read(path).decode(), path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MoxValueError(f"{path} can't be read: {storage.reason(error)}.") from error
    except UnicodeDecodeError as error:
        raise MoxValueError(f"{path} is not UTF-8 text: {error}. Save it as UTF-8.") from error


def parse(text: str, source: str) -> list[str]:
    """Returns the names in a labels file, in the order of their numbers.

    Each line is `number: name`; a single line with all pairs, `0: a 1: b`, is read, too.

    Args:
        text: the content of the file.
        source: the path of the file, for messages.

    Raises:
        MoxValueError: a line is invalid; the message shows it.
    """
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    pairs: list[tuple[int, int, str]] = []
    for number, line in lines:
        match = _LINE.match(line.removeprefix("\ufeff"))
        if match is None or not match[2]:
            raise MoxValueError(f"{source}, line {number}: {line.strip()!r} is no label. {_FORMAT}")
        pairs.append((number, int(match[1]), match[2]))
    if len(lines) == 1:
        found = _IN_ONE_LINE.findall(lines[0][1].removeprefix("\ufeff"))
        if len(found) > 1:
            pairs = [(lines[0][0], int(label), name) for label, name in found]
    return _in_order(pairs, source)


def _in_order(pairs: Sequence[tuple[int, int, str]], source: str) -> list[str]:
    if not pairs:
        raise MoxValueError(f"{source} is empty. {_FORMAT}")
    names: dict[int, str] = {}
    numbers: dict[str, int] = {}
    for line, label, name in pairs:
        if label in names:
            raise MoxValueError(
                f"{source}, line {line}: label {label} is {names[label]!r} already, and now"
                f" {name!r}. Each number may stand once."
            )
        if name in numbers:
            raise MoxValueError(
                f"{source}, line {line}: {name!r} is label {numbers[name]} already, and now"
                f" {label}. Each name may stand once."
            )
        names[label], numbers[name] = name, label
    missing = sorted(set(range(len(names))) - set(names))
    if missing:
        raise MoxValueError(
            f"{source}: {len(names)} labels must be numbered 0 to {len(names) - 1};"
            f" {missing[0]} is missing. {_FORMAT}"
        )
    return [names[label] for label in range(len(names))]


def check_folders(names: Sequence[str], folders: Sequence[str], source: str, base: str) -> None:
    """Raises a MoxValueError unless labels and class folders have the same names."""
    without_folder = [name for name in names if name not in set(folders)]
    without_label = [folder for folder in folders if folder not in set(names)]
    if not without_folder and not without_label:
        return
    parts = []
    if without_folder:
        hint = near_matches(without_folder[0], without_label)
        parts.append(f"labels without a folder: {_some(without_folder)}.{hint}")
    if without_label:
        parts.append(f"folders without a label: {_some(without_label)}.")
    raise MoxValueError(
        f"{source} and the folders of {base} do not agree: {' '.join(parts)} Correct or delete"
        " the file, or rename the folders."
    )


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
    tf.add_to_collection(_ANNOUNCED, tuple(names))


def announced(graph: tf.Graph) -> tuple[str, ...] | None:
    """Returns the class names that the graph's readers share; None if there are none or several."""
    found = set(graph.get_collection(_ANNOUNCED))
    return found.pop() if len(found) == 1 else None


def as_text(names: Sequence[str]) -> str:
    """Returns the content of a labels file, as `parse` reads it."""
    return "".join(f"{label}: {name}\n" for label, name in enumerate(names))


def write(names: Sequence[str], path: Path) -> None:
    """Writes a labels file, unless it exists with this content."""
    content = as_text(names)
    try:
        if path.read_text(encoding="utf-8") == content:
            return
    except (OSError, UnicodeDecodeError):
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_name(path.name + ".tmp")
    staged.write_text(content, encoding="utf-8")
    staged.replace(path)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
