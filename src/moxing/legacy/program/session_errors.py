"""Shortens errors of TensorFlow's sessions, and names the program's line that they are about."""

from __future__ import annotations

import sys
from collections.abc import Callable

from moxing.framework import folding, stack_texts

_NOTED = "openmox: raised"  # How a note begins that a run of openmox has added.


def note(error: BaseException) -> str:
    """Returns what is known of an error of a session that the program ran itself.

    Returns:
        A note with the operation, its inputs, and the line of the program that made it, or about
        the memory that was full; empty for other errors, and if nothing is known.
    """
    if not _of_tensorflow(error) or any(
        text.startswith(_NOTED) for text in getattr(error, "__notes__", ())
    ):
        return ""
    import tensorflow.compat.v1 as tf

    from moxing.engine.graph import blame

    assert isinstance(error, tf.errors.OpError)
    graph = tf.get_default_graph() if error.op is None else error.op.graph
    said = blame.about(error, graph, "in a session", own_session=True)
    return "" if said == f"{_NOTED} in a session." else said


def shorten(error: BaseException, owns: Callable[[str], bool]) -> int:
    """Takes stacks out of the messages of an error and its causes.

    Args:
        error: the error that ends the program.
        owns: whether a source file is the user's own.

    Returns:
        The number of frames of libraries that were taken out.
    """
    removed = 0
    for current in folding.chain(error):
        if _of_tensorflow(current):
            of_message = owns
            if current._op is not None:  # type: ignore[attr-defined]
                # The message ends in the stack of the operation, whose line a note names.
                of_message = _none
                removed += len(current._op.traceback or ())  # type: ignore[attr-defined]
                current._op = None  # type: ignore[attr-defined]
            text, count = stack_texts.without_frames(str(current._message), of_message)  # type: ignore[attr-defined]
            current._message = text  # type: ignore[attr-defined]
            removed += count
        elif len(current.args) == 1 and isinstance(current.args[0], str):
            # AutoGraph puts the stack of a function that it has converted into the message.
            text, count = stack_texts.without_frames(current.args[0], owns)
            if count:
                current.args = (text,)
                removed += count
    return removed


def _none(file: str) -> bool:
    del file
    return False


def _of_tensorflow(error: BaseException) -> bool:
    module = sys.modules.get("tensorflow.python.framework.errors_impl")
    return module is not None and isinstance(error, module.OpError)
