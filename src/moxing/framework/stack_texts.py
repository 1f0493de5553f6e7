"""Takes the frames of libraries out of messages into which TensorFlow has put whole stacks."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from moxing.framework.folding import chain

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


def shorten(error: BaseException, owns: Callable[[str], bool]) -> int:
    """Takes stacks out of the messages of an error and its causes.

    Args:
        error: the error that ends the program.
        owns: whether a source file is the user's own.

    Returns:
        The number of frames of libraries that were taken out.
    """
    removed = 0
    for current in chain(error):
        if is_of_tensorflow(current):
            of_message = owns
            if current._op is not None:  # type: ignore[attr-defined]
                # The message ends in the stack of the operation, whose line a note names.
                of_message = _none
                removed += len(current._op.traceback or ())  # type: ignore[attr-defined]
                current._op = None  # type: ignore[attr-defined]
            text, count = without_frames(str(current._message), of_message)  # type: ignore[attr-defined]
            current._message = text  # type: ignore[attr-defined]
            removed += count
        elif len(current.args) == 1 and isinstance(current.args[0], str):
            # AutoGraph puts the stack of a function that it has converted into the message.
            text, count = without_frames(current.args[0], owns)
            if count:
                current.args = (text,)
                removed += count
    return removed


def _none(file: str) -> bool:
    del file
    return False


def is_of_tensorflow(error: BaseException) -> bool:
    """Whether an error is one of `tf.errors`."""
    module = sys.modules.get("tensorflow.python.framework.errors_impl")
    return module is not None and isinstance(error, module.OpError)


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
