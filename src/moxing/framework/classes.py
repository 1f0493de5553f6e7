"""Names of classes: the file that numbers them, and folders that are named after them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from moxing.errors import MoxValueError, near_matches, shown

_NUMBERED = re.compile(r"\s*\d+\s*:")
_LINE = re.compile(r"\s*(\d{1,9})\s*:\s*(.*?)\s*$")
_IN_ONE_LINE = re.compile(r"(?:^|\s)(\d{1,9})\s*:\s*(\S+)")
_SHOWN = 10
_FORMAT = "One class a line, numbered from 0: `0: daisy`."
# Files that systems leave in folders: macOS in archives, NAS devices, file systems, Windows,
# Python.
_OF_SYSTEMS = ("__MACOSX", "@eaDir", "lost+found", "$RECYCLE.BIN", "System Volume Information")
_OF_SYSTEMS += ("__pycache__",)


def may_be_class(folder: str) -> bool:
    """Whether a folder of this name can hold a class: it is neither hidden nor a system folder."""
    return not folder.startswith(".") and folder not in _OF_SYSTEMS


def parse(text: str, source: str) -> list[str]:
    """Returns the names in a labels file, in the order of their numbers.

    Each line is `number: name`; a single line with all pairs, `0: a 1: b`, is read, too. A file in
    which no line has a number lists the names in the order of their numbers, from 0.

    Args:
        text: the content of the file.
        source: the path of the file, for messages.

    Raises:
        MoxValueError: a line is invalid; the message shows it.
    """
    text = text.removeprefix("\ufeff")
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not any(_NUMBERED.match(line) for _, line in lines):
        listed = [(number, label, line.strip()) for label, (number, line) in enumerate(lines)]
        return _in_order(listed, source)
    pairs: list[tuple[int, int, str]] = []
    for number, line in lines:
        match = _LINE.match(line)
        if match is None or not match[2]:
            raise MoxValueError(
                f"{source}, line {number}: {shown(line.strip())} is no label. {_FORMAT}"
            )
        pairs.append((number, int(match[1]), match[2]))
    if len(lines) == 1:
        found = _IN_ONE_LINE.findall(lines[0][1])
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


def as_text(names: Sequence[str]) -> str:
    """Returns the content of a labels file, as `parse` reads it."""
    return "".join(f"{label}: {name}\n" for label, name in enumerate(names))


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
