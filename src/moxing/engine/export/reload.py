"""Loads an exported model in a separate graph, and compares its outputs with the checkpoint's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.saved_model.loader_impl import SavedModelLoader

from moxing.engine.export.sample import Feed, feeds
from moxing.engine.job.signature import ExportSignature, components
from moxing.errors import MoxRuntimeError
from moxing.logs import TENSORFLOW

# Limit for one batch. The loaded model gets more: a busy machine must not look like a difference.
_SECONDS = 120
_RELATIVE = 1e-3
_RELATIVE_HALF = 2e-2  # For 16-bit numbers.

Outputs = Mapping[str, list[np.ndarray]]


def check(session: tf.Session, signature: ExportSignature, directory: str) -> None:
    """Raises if the model in `directory` and the model in `session` compute different outputs.

    Both models get one batch of generated input. An output that differs between two calls of
    `session`, as with random operations, can't be compared; nor can a model that accepts no
    generated input. The log says so in both cases.

    Args:
        session: session of the exported graph, with initialized variables and tables.
        signature: inputs and outputs of the model.
        directory: directory of a SavedModel.

    Raises:
        MoxRuntimeError: the model can't be loaded, or an output differs; the message names it.
    """
    fetches = {name: components(tensor) for name, tensor in signature.outputs.items()}
    found = _first_that_works(session, fetches, signature)
    if found is None:
        return
    feed, expected = found
    loaded = _outputs_of(directory, feed, fetches)
    differing = [name for name in fetches if not _equal(expected[name], loaded[name])]
    if not differing:
        return
    again = _run(session, fetches, feed)
    for name in differing:
        if _equal(expected[name], again[name]):
            raise MoxRuntimeError(
                f"The exported model does not compute what the checkpoint does: the output"
                f" {name!r} {_difference(expected[name], loaded[name])} on the same generated"
                " input. It depends on something that is not saved, such as a local variable with"
                " a random initial value. Make it a variable of model_fn (tf.get_variable)."
            )
        TENSORFLOW.info(
            "The exported output %r is not compared with the checkpoint's: it differs from call to"
            " call, as with random operations.",
            name,
        )


def _first_that_works(
    session: tf.Session, fetches: Any, signature: ExportSignature
) -> tuple[Feed, Outputs] | None:
    reason = ""
    for feed in feeds(signature.inputs):
        try:
            return feed, _run(session, fetches, feed)
        except (tf.errors.OpError, ValueError, TypeError) as error:
            reason = _reason(error)
    TENSORFLOW.info(
        "The exported model is not compared with the checkpoint: it accepts none of the generated"
        " inputs (%s).",
        reason,
    )
    return None


def _outputs_of(directory: str, feed: Feed, fetches: Mapping[str, list[tf.Tensor]]) -> Outputs:
    names = {name: [part.name for part in parts] for name, parts in fetches.items()}
    config = tf.ConfigProto(allow_soft_placement=True, device_count={"GPU": 0})
    try:
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            SavedModelLoader(directory).load(session, [tf.saved_model.SERVING])
            return _run(session, names, feed, 10 * _SECONDS)
    except (tf.errors.OpError, ValueError, KeyError) as error:
        raise MoxRuntimeError(
            "The exported model can't be loaded and called, as it was to check it:"
            f" {_reason(error)}"
        ) from error


def _reason(error: Exception) -> str:
    """The line with the reason of an error, whose text may begin with a traceback."""
    text = getattr(error, "message", None) or str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    starts = [n for n, line in enumerate(lines) if line.startswith(("Graph execution", "Node: "))]
    lines = lines[starts[-1] + 1 :] if starts else lines
    return lines[0] if lines else type(error).__name__


def _run(session: tf.Session, fetches: Any, feed: Feed, seconds: int = _SECONDS) -> Outputs:
    return session.run(fetches, feed, tf.RunOptions(timeout_in_ms=1000 * seconds))


def _equal(expected: list[Any], found: list[Any]) -> bool:
    pairs = zip(expected, found, strict=True)
    return all(_equal_arrays(np.asarray(a), np.asarray(b)) for a, b in pairs)


def _equal_arrays(expected: np.ndarray, found: np.ndarray) -> bool:
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return False
    if not _is_real(expected):
        return bool(np.array_equal(expected, found, equal_nan=expected.dtype.kind == "c"))
    a, b = expected.astype(np.float64), found.astype(np.float64)
    finite = np.abs(a[np.isfinite(a)])
    relative = _RELATIVE if expected.dtype.itemsize > 2 else _RELATIVE_HALF
    close = relative * float(finite.max(initial=0.0))
    return bool(np.allclose(b, a, rtol=0.0, atol=close, equal_nan=True))


def _is_real(array: np.ndarray) -> bool:
    """Whether an array holds floating-point numbers, including bfloat16 and similar types."""
    return array.dtype.kind == "f" or tf.as_dtype(array.dtype).is_floating


def _difference(expected: list[Any], found: list[Any]) -> str:
    for a, b in zip(expected, found, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if _equal_arrays(a, b):
            continue
        if a.shape != b.shape:
            return f"has the shape {b.shape} instead of {a.shape}"
        if a.dtype == b.dtype and _is_real(a):
            far = np.abs(a.astype(np.float64) - b.astype(np.float64))
            return f"differs by up to {np.nanmax(far):.3g}"
        return f"differs in {int(np.sum(a != b))} of {a.size} values"
    return "differs"
