"""Adds notes to errors that TensorFlow raises in a session: what was run, and which user line."""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

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


_TWO_SIZES = (
    *("Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "Maximum", "Minimum", "SquaredDifference"),
    *("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "Pow", "LogicalAnd"),
)
_FILES = ("TextLineDataset", "TFRecordDataset", "TFRecordDatasetV2", "FixedLengthRecordDatasetV2")
# Words of TensorFlow's errors, and the operations that say them: TensorFlow names none of the
# operations of a step that it runs in one thread.
_SAID_BY: Final = {
    "assertion failed": ("Assert",),
    "Received a label value": ("SparseSoftmaxCrossEntropyWithLogits",),
    " is not in [0, ": ("Gather", "GatherV2", "ResourceGather", "SparseSegmentSum", "ScatterAdd"),
    "Incompatible shapes": _TWO_SIZES,
    "Matrix size-incompatible": ("MatMul", "BatchMatMul", "BatchMatMulV2"),
    "Input to reshape is": ("Reshape",),
    "ConcatOp": ("Concat", "ConcatV2"),
    "Cannot parse tensor from proto": ("Const", "Fill"),
    "No such file": (*_FILES, "ReadFile"),
    "`generator` yielded": ("FlatMapDataset", "GeneratorDataset"),
}
_MOST = 3  # Operations that are named.
_MANY = 1 << 27  # Elements of a constant that may be too large for TensorFlow.
_CELL = "<ipython-input-"  # How IPython names the source of a cell on a terminal.
_LONGEST = 100  # Characters of a line of source.
_FEED = " Feed it from a hook, or build the model of the inputs that model_fn is given."
_FEED_OWN = " Feed it: session.run(..., feed_dict={placeholder: value})."


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


def about(
    error: tf.errors.OpError,
    graph: tf.Graph,
    doing: str,
    room: Room | None = None,
    own_session: bool = False,
) -> str:
    """The note for an error; it names the operation and the user's line that made it, if known.

    Args:
        error: the error that a session raised.
        graph: the graph that ran.
        doing: what the run was doing.
        room: the memory that a step has, and the size of its batches; None: not known.
        own_session: whether the program runs the session itself, without flags of openmox.
    """
    python = _python_error(error, graph)
    if python is not None:
        return f"openmox: raised {doing}: {python}."
    if found := records.broken(error, graph):
        return f"openmox: raised {doing}: {found}."
    op = _operation(error, graph)
    memory = exhausted.told(error, graph, place, room, own_session)
    if op is None:
        # A cluster of XLA is in no pipeline.
        where = "" if memory else _in_pipeline(error, graph) or _suspects(error, graph)
        return f"openmox: raised {doing}{where}.{memory or _of_kept_code(error)}"
    hint = memory
    if op.type in PLACEHOLDERS and not memory:
        hint = _FEED_OWN if own_session else _FEED
    return f"openmox: raised {doing}, by {_described(op)}.{hint}"


def _described(op: tf.Operation) -> str:
    """`'x' (train.py:12: y = a + b), of float32 [8, 3], int64 [8]`."""
    frame = _users_frame(op)
    named = f"{op.name!r} ({_line(frame)})" if frame else repr(op.name)
    inputs = [value for value in op.inputs if _is_of_numbers(value.dtype)]
    if not 0 < len(inputs) <= _MOST:
        return named
    return f"{named}, of {', '.join(map(_kind, inputs))}"


def _is_of_numbers(dtype: tf.DType) -> bool:
    return dtype.is_floating or dtype.is_integer or dtype.is_bool or dtype.is_complex


def _kind(value: tf.Tensor) -> str:
    """`float32 [?, 3]`."""
    known = value.shape.rank is not None
    sizes = ["?" if size is None else str(size) for size in value.shape.as_list()] if known else []
    shape = f"[{', '.join(sizes)}]" if known else "of unknown rank"
    return f"{value.dtype.base_dtype.name} {shape}"


def _line(frame: Any) -> str:
    """`train.py:12: y = a + b`."""
    source = linecache.getline(frame.filename, frame.lineno).strip()
    if len(source) > _LONGEST:
        source = source[: _LONGEST - 3] + "..."
    where = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    return f"{where}: {source}" if source else where


def _users_frame(op: tf.Operation) -> Any:
    return next((f for f in reversed(op.traceback or []) if is_of_user(f.filename)), None)


def place(op: tf.Operation) -> str:
    """`'x' (train.py:12)`: the operation, and the line of the user's code that made it."""
    frame = _users_frame(op)
    if frame is None:
        return repr(op.name)
    return f"{op.name!r} ({os.path.basename(frame.filename)}:{frame.lineno})"


def is_of_user(filename: str) -> bool:
    """Whether a source file is the user's: it belongs neither to a library nor to openmox."""
    if filename.startswith(_CELL):
        return True
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


def _python_error(error: tf.errors.OpError, graph: tf.Graph) -> str | None:
    """The error, and its place, of Python code that TensorFlow called; None if there was none.

    Such code is, for example, a generator of input_fn. TensorFlow puts its traceback into the
    message.
    """
    _, found, trace = str(error.message).partition("Traceback (most recent call last):")
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
        made = _suspects(error, graph)
        return f"TensorFlow refuses a value that Python code of the input gave: {last}{made}"
    file, line, function = frames[-1]
    return f"{function} ({os.path.basename(file)}:{line}) raised {last}"


def _suspects(error: tf.errors.OpError, graph: tf.Graph) -> str:
    """Names the operations of the program that say what an error says; else an empty text."""
    message = str(error.message)
    kinds = next((kinds for words, kinds in _SAID_BY.items() if words in message), ())
    ops = [op for op in graph.get_operations() if op.type in kinds and _may_have_said(op, message)]
    named = list(dict.fromkeys(_described(op) for op in ops))
    if not named and kinds:
        calls = _caller(lambda node: node.op in kinds, graph)
        return f", in a function of the input's pipeline{calls}" if calls else ""
    return f", by {' or '.join(named)}" if 0 < len(named) <= _MOST else ""


def _may_have_said(op: tf.Operation, message: str) -> bool:
    """Whether an operation is of the program's own lines, and asserts what the message says."""
    if op.name.startswith("gradients") or _users_frame(op) is None:
        return False
    if op.type in ("Const", "Fill"):
        return (op.outputs[0].shape.num_elements() or 0) > _MANY
    texts = [tf.get_static_value(value) for value in op.inputs if value.dtype == tf.string]
    return op.type != "Assert" or any(text and text.item() in message.encode() for text in texts)


def _in_pipeline(error: tf.errors.OpError, graph: tf.Graph) -> str:
    """Returns name and message of a dataset function's operation; else an empty text."""
    message = str(error.message)
    names = [found[1] for found in _NAMED.finditer(message) if found[1]]
    if not names:
        return ""
    first = _SEVERAL.sub("", message).splitlines()[0]
    words = _PASSED_ON.sub("", first).strip().rstrip(".")
    calls = _caller(lambda node: node.name == names[0], graph)
    return f", by {names[0]!r} in a function of the input's pipeline{calls}: {words}"


def _caller(is_meant: Callable[[Any], bool], graph: tf.Graph) -> str:
    """Returns ` (train.py:12: data.map(f))`, the line that gives a dataset its function."""
    try:
        functions = graph.as_graph_def().library.function
    except (ValueError, tf.errors.OpError):  # The graph is larger than a message can be.
        return ""
    named = {f.signature.name for f in functions if any(map(is_meant, f.node_def))}
    for op in graph.get_operations():
        if "Dataset" not in op.type or op.node_def.attr["f"].func.name not in named:
            continue
        if frame := _users_frame(op):
            return f" ({_line(frame)})"
    return ""


def _operation(error: tf.errors.OpError, graph: tf.Graph) -> tf.Operation | None:
    if error.op is not None:
        return error.op
    for match in _NAMED.finditer(str(error.message)):
        try:
            return graph.get_operation_by_name(match[1] or match[2])
        except (KeyError, ValueError):  # An operation of a dataset's function.
            continue
    return None
