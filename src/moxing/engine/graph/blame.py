"""Adds notes to errors that TensorFlow raises in a session: what was run, and which user line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow.compat.v1 as tf

from moxing import errors
from moxing.engine.graph import exhausted, records
from moxing.engine.graph.ancestry import PLACEHOLDERS
from moxing.engine.graph.fitting import Room
from moxing.framework import compiled_code

# TensorFlow names the operation only in its message; its single-threaded executor never does.
_NAMED = re.compile(r"\{\{node ([^}]+)\}\}|placeholder tensor '([^']+)'")

# TensorFlow's words for files of compiled code that it can't use.
_KEPT_CODE = (
    *("Serialized cache key does not match", "Serialized HLO does not match"),
    "No binary found in serialized entry",
)

# The words before the error of a dataset's function.
_PASSED_ON = re.compile(r"^Error in .*? with iterator: \S+: ")
# The heading of several errors, and what is in front of each of them.
_SEVERAL = re.compile(r"^\d+ root error\(s\) found\.\n\s*\(\d+\) [A-Z_]+: ")
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Iteration|Warning)\b")


@contextmanager
def noted(graph: tf.Graph, doing: str) -> Iterator[None]:
    """Adds a note that starts with `openmox: raised` to TensorFlow's errors in the block.

    Args:
        graph: the graph whose operations run.
        doing: what the run is doing, such as "while variables were initialized".
    """
    try:
        yield
    except tf.errors.OpError as error:
        error.add_note(about(error, graph, doing))
        raise


def about(error: tf.errors.OpError, graph: tf.Graph, doing: str, room: Room | None = None) -> str:
    """The note for an error; it names the operation and the user's line that made it, if known.

    Args:
        error: the error that a session raised.
        graph: the graph that ran.
        doing: what the run was doing.
        room: the memory that a step has, and the size of its batches; None: not known.
    """
    python = _python_error(str(error.message))
    if python is not None:
        return f"openmox: raised {doing}: {python}."
    if found := records.broken(error, graph):
        return f"openmox: raised {doing}: {found}."
    op, memory = _operation(error, graph), exhausted.told(error, graph, place, room)
    if op is None:
        where = "" if memory else _in_pipeline(error)  # A cluster of XLA is in no pipeline.
        return f"openmox: raised {doing}{where}.{memory or _of_kept_code(error)}"
    hint = memory
    if op.type in PLACEHOLDERS and not memory:
        hint = " Feed it from a hook, or build the model of the inputs that model_fn is given."
    return f"openmox: raised {doing}, by {place(op)}.{hint}"


def place(op: tf.Operation) -> str:
    """`'x' (train.py:12)`: the operation, and the line of the user's code that made it."""
    for frame in reversed(op.traceback or []):
        if is_of_user(frame.filename):
            return f"{op.name!r} ({os.path.basename(frame.filename)}:{frame.lineno})"
    return repr(op.name)


def is_of_user(filename: str) -> bool:
    """Whether a source file is the user's: it belongs neither to a library nor to openmox."""
    return not filename.startswith(("<", *errors.library_folders()))


def _of_kept_code(error: tf.errors.OpError) -> str:
    """Advice for errors of the files of compiled code; an empty text for other errors."""
    folder = compiled_code.kept_in()
    if folder is None or not any(word in str(error.message) for word in (folder, *_KEPT_CODE)):
        return ""
    return (
        f" The code that XLA compiled and keeps in {folder} can't be used: remove the folder, free"
        f" space there, or set {compiled_code.VARIABLE} to another folder, or to nothing to do"
        " without."
    )


def _python_error(message: str) -> str | None:
    """The error, and its place, of Python code that TensorFlow called; None if there was none.

    Such code is, for example, a generator of input_fn. TensorFlow puts its traceback into the
    message.
    """
    _, found, trace = message.partition("Traceback (most recent call last):")
    if not found:
        return None
    frames = [frame for frame in _FRAME.findall(trace) if is_of_user(frame[0])]
    raised = [line for line in trace.splitlines() if _RAISED.match(line)]
    if not raised:
        return None
    last = raised[-1].strip().rstrip(".")
    if not frames:
        kind, _, sentence = last.partition(": ")
        if kind.startswith(f"{errors.__name__}."):  # A reader of openmox says what is wrong.
            return sentence
        # Such as a generator, of which TensorFlow refuses an element.
        return f"TensorFlow refuses a value that Python code of the input gave: {last}"
    file, line, function = frames[-1]
    return f"{function} ({os.path.basename(file)}:{line}) raised {last}"


def _in_pipeline(error: tf.errors.OpError) -> str:
    """Returns name and message of a dataset function's operation; else an empty text."""
    message = str(error.message)
    names = [found[1] for found in _NAMED.finditer(message) if found[1]]
    if not names:
        return ""
    first = _SEVERAL.sub("", message).splitlines()[0]
    words = _PASSED_ON.sub("", first).strip().rstrip(".")
    return f", by {names[0]!r} in a function of the input's pipeline: {words}"


def _operation(error: tf.errors.OpError, graph: tf.Graph) -> tf.Operation | None:
    if error.op is not None:
        return error.op
    for match in _NAMED.finditer(str(error.message)):
        try:
            return graph.get_operation_by_name(match[1] or match[2])
        except (KeyError, ValueError):  # An operation of a dataset's function.
            continue
    return None
