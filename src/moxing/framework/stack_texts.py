"""Takes the frames of libraries out of messages into which TensorFlow has put whole stacks."""

from __future__ import annotations

import re
from collections.abc import Callable

_FRAME = re.compile(r'(\s*)File "([^"]+)", line \d+')
_HEADING = re.compile(
    r"\s*(?:Detected at node .* defined at|Traceback) \(most recent call last\):$"
    r"|\s*Original stack trace for .*:$"
)
_FIRST = "Graph execution error:"
_NODE = re.compile(r"Node: '[^']*'$")


def without_frames(text: str, owns: Callable[[str], bool]) -> tuple[str, int]:
    """Removes frames, and headings of stacks without a frame of the user's files.

    Args:
        text: the message.
        owns: whether a source file is the user's own.

    Returns:
        The message, and the number of frames that were removed.
    """
    text = text.removeprefix(f"{_FIRST}\n\n")
    if not any(map(_FRAME.match, text.splitlines())):
        return text, 0
    kept, removed = _without(text.splitlines(), owns)
    lines = [line for at, line in enumerate(kept) if not _leads_nowhere(kept, at)]
    if any(map(_HEADING.match, text.splitlines())):
        lines = [line for line in lines if not _NODE.match(line) and line != _FIRST]
    return re.sub(r"\n\s*\n(\s*\n)+", "\n\n", "\n".join(lines)).strip("\n"), removed


def _without(lines: list[str], owns: Callable[[str], bool]) -> tuple[list[str], int]:
    """Removes each foreign frame with the lines of source below it."""
    kept: list[str] = []
    indent, removed = -1, 0  # The indent of the frame that is being removed; -1: none.
    for line in lines:
        frame = _FRAME.match(line)
        if frame:
            indent = -1 if owns(frame[2]) else len(frame[1])
            removed += indent >= 0
            if indent >= 0:
                continue
        elif indent >= 0 and (not line.strip() or len(line) - len(line.lstrip()) > indent):
            continue
        else:
            indent = -1
        kept.append(line)
    return kept, removed


def _leads_nowhere(lines: list[str], at: int) -> bool:
    """Whether a line is the heading of a stack of which no frame is left."""
    if not _HEADING.match(lines[at]):
        return False
    behind = next((line for line in lines[at + 1 :] if line.strip()), "")
    return not _FRAME.match(behind)
