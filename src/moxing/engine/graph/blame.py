"""Says, of an error that TensorFlow raises while it runs, what it was doing and for whom."""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow.compat.v1 as tf

import moxing
from moxing.engine.graph.ancestry import PLACEHOLDERS

_LIBRARIES = (
    *(sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib")),
    os.path.dirname(moxing.__file__),
    "<",
)
# TensorFlow names the operation in its message, if at all: its executor for one thread does not.
_NAMED = re.compile(r"\{\{node ([^}]+)\}\}|placeholder tensor '([^']+)'")

_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Iteration|Warning)\b")


@contextmanager
def noted(graph: tf.Graph, doing: str) -> Iterator[None]:
    """Errors of TensorFlow inside get a note that starts with `openmox: raised`.

    Args:
        graph: whose operations run.
        doing: when it happened, such as "while variables were initialized".
    """
    try:
        yield
    except tf.errors.OpError as error:
        error.add_note(about(error, graph, doing))
        raise


def about(error: tf.errors.OpError, graph: tf.Graph, doing: str) -> str:
    """The note, with the operation and the user's line that made it where they are known."""
    python = _python_error(str(error.message))
    if python is not None:
        return f"openmox: raised {doing}: {python}."
    op = _operation(error, graph)
    if op is None:
        return f"openmox: raised {doing}."
    hint = ""
    if op.type in PLACEHOLDERS:
        hint = " Feed it from a hook, or build the model of the inputs that model_fn is given."
    return f"openmox: raised {doing}, by {place(op)}.{hint}"


def place(op: tf.Operation) -> str:
    """`'x' (train.py:12)`: the operation, and the line of the user's that made it."""
    for frame in reversed(op.traceback or []):
        if is_of_user(frame.filename):
            return f"{op.name!r} ({os.path.basename(frame.filename)}:{frame.lineno})"
    return repr(op.name)


def is_of_user(filename: str) -> bool:
    """Whether a source file is the user's: no library's, and not of openmox."""
    return not filename.startswith(_LIBRARIES)


def _python_error(message: str) -> str | None:
    """What Python code that TensorFlow called raised, such as a generator of input_fn, and where.

    TensorFlow puts the traceback into its message.
    """
    _, found, trace = message.partition("Traceback (most recent call last):")
    if not found:
        return None
    frames = [frame for frame in _FRAME.findall(trace) if is_of_user(frame[0])]
    raised = [line for line in trace.splitlines() if _RAISED.match(line)]
    if not frames or not raised:
        return None
    file, line, function = frames[-1]
    return f"{function} ({os.path.basename(file)}:{line}) raised {raised[-1].strip().rstrip('.')}"


def _operation(error: tf.errors.OpError, graph: tf.Graph) -> tf.Operation | None:
    if error.op is not None:
        return error.op
    for match in _NAMED.finditer(str(error.message)):
        try:
            return graph.get_operation_by_name(match[1] or match[2])
        except (KeyError, ValueError):  # An operation of a dataset's function.
            continue
    return None
