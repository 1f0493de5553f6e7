"""Replaces Keras errors about data that does not fit the model by errors with advice."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import tensorflow as tf2
import tensorflow.compat.v1 as tf

from moxing.engine.graph import blame
from moxing.errors import MoxError, MoxValueError
from moxing.keras import described

_COMPOSITE = (tf.RaggedTensorSpec, tf.SparseTensorSpec)
_COLORS = re.compile(r"\x1b\[\d+m")
_PREAMBLE = re.compile(r"^(Exception encountered|Arguments received|Call arguments)|^\s*(•|$)")
_LABEL = re.compile(r"Received a label value of (-?\d+).*?valid range of \[0, (\d+)\)")
_LONGEST = 300


@contextmanager
def told(name: str, element: Any, model: Any) -> Iterator[None]:
    """In the block, Keras errors become errors that describe both the data and the model.

    An error that the program's own code raises is kept, with an added note.

    Args:
        name: the name of the argument of `fit`.
        element: the specs of a batch: x or a tuple (x, y, sample_weight).
        model: the compiled model.

    Raises:
        MoxValueError: replaces Keras' error.
    """
    try:
        yield
    except MoxError:
        raise
    except Exception as error:
        sentence = _sentence(name, element, model)
        if _is_of_user(error):
            error.add_note(f"openmox: {sentence}")
            raise
        raise MoxValueError(
            f"{sentence} {advice(element, model)} Keras says: {_first_line(error)}"
        ) from error


def check_evaluation(element: tuple[Any, ...], trained: tuple[Any, ...], model: Any) -> None:
    """Raises an error before training if the model can't be evaluated on the evaluation data.

    Args:
        element: the specs of a batch of `eval_data`.
        trained: the specs of a batch of `train_data`, which fit the model.
        model: the built model.

    Raises:
        MoxValueError: the data does not fit the model; the message describes both.
    """
    if _alike(element, trained):
        return
    with told("eval_data", element, model):
        tf2.function(model.test_step, autograph=False).get_concrete_function(element)


def _alike(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether the specs differ at most in the batch size."""
    try:
        tf.nest.assert_same_structure(one, other)
    except (TypeError, ValueError):
        return False
    pairs = zip(tf.nest.flatten(one), tf.nest.flatten(other), strict=True)
    return all(_form(a) == _form(b) for a, b in pairs)


def _form(spec: Any) -> tuple[Any, ...]:
    shape = spec.shape.as_list()[1:] if spec.shape.rank else None
    return type(spec).__name__, spec.dtype, shape


@contextmanager
def told_in_steps(name: str, element: Any, model: Any) -> Iterator[None]:
    """In the block, TensorFlow's errors about labels, strings or ragged tensors get advice.

    Raises:
        MoxValueError: replaces TensorFlow's error.
    """
    try:
        yield
    except tf.errors.OpError as error:
        message = str(error.message)
        label = _LABEL.search(message)
        if label:
            raise MoxValueError(
                f"{name} has the label {label[1]}, and the model tells {label[2]} classes apart:"
                f" labels must be whole numbers from 0 to {int(label[2]) - 1}. Number the classes"
                " from 0 on, or give the last layer as many units as there are classes."
            ) from error
        strings = "Cast string to" in message and _has_strings(element)
        if strings or ("ragged" in message and _of_kind(element)):
            sentence = _sentence(name, element, model)
            raise MoxValueError(f"{sentence} {advice(element, model)}") from error
        raise


def advice(element: Any, model: Any) -> str:
    """Returns a sentence that says how to make the data fit the model."""
    parts = element if isinstance(element, tuple) else (element,)
    if len(parts) > len(described.PARTS):
        return "A batch must be x, (x, y) or (x, y, sample_weight)."
    x, y, weight = (*parts, None, None)[:3]
    if any(spec.shape.rank is None for spec in tf.nest.flatten(parts) if spec is not None):
        return "Say how many dimensions it has: tf.ensure_shape(x, [None, ...]) in Dataset.map."
    found = _of_x(x, model) or _of_y(y, model) or _of_weight(weight) or _of_kind(x)
    return found or "Make the data fit the inputs of the model, or the model fit the data."


def _of_x(x: Any, model: Any) -> str | None:
    known = described.inputs(model)
    names, given = [name for name, _ in known], tf.nest.flatten(x)
    if isinstance(x, Mapping) and known:
        if len(names) == 1 and names[0] not in x:
            more = "" if len(given) == 1 else " The values to learn are y: pass (x, y)."
            return f"The model has one input: pass its x alone, not in a dict.{more}"
        missing = [name for name in names if name not in x]
        if missing:
            example = ", ".join(f"{name!r}: ..." for name in names)
            return f"Name the parts of x as the model's inputs are named: {{{example}}}."
        given = [x[name] for name in names]
    if known and len(given) != len(known):
        return f"The model has {len(known)} inputs and x has {len(given)} parts: give as many."
    for part, (name, tensor) in zip(given, known, strict=False):
        which = f"x[{name!r}]" if len(known) > 1 else "x"
        if part.dtype == tf.string and tf.as_dtype(tensor.dtype) != tf.string:
            return (
                f"{which} has strings and the model takes numbers: turn them into numbers before"
                " fit, as with a StringLookup layer in Dataset.map."
            )
        wanted = tf.TensorShape(tensor.shape)
        if not wanted.is_compatible_with(part.shape):
            shape = ", ".join(["batch", *(str(size) for size in wanted.as_list()[1:])])
            order = ", in the order of the model's inputs" if len(known) > 1 else ""
            return f"Bring {which} into the shape ({shape}){order}."
    return None


def _of_y(y: Any, model: Any) -> str | None:
    made = described.outputs(model)
    if y is None:
        return "The loss compares with labels, and there are none: give (x, y)."
    given = tf.nest.flatten(y)
    if any(isinstance(part, _COMPOSITE) for part in given):
        return "Make y dense: with to_tensor() or tf.sparse.to_dense."
    if any(part.dtype == tf.string for part in given):
        return (
            "y has strings and the loss takes numbers: number the classes, as with"
            " numpy.unique(y, return_inverse=True)[1]."
        )
    names = [name for name, _ in made]
    if len(made) > 1 and not (isinstance(y, Mapping) and set(y) == set(names)):
        example = ", ".join(f"{name!r}: ..." for name in names)
        return f"Give a y for each output, by its name: {{{example}}}."
    if len(given) != 1 or len(made) > 1:
        return None
    return _of_rank(given[0].shape, tf.TensorShape(made[0][1].shape) if made else None, model)


def _of_rank(given: Any, made: Any, model: Any) -> str | None:
    """Returns advice if the loss takes one-hot labels but gets class indices, or vice versa."""
    loss = re.sub("[^a-z]", "", described.loss(model).lower())
    if "crossentropy" not in loss or "binary" in loss or given.rank is None:
        return None
    sparse = "sparse" in loss
    if sparse and given.rank > 1 and given[-1] != 1:
        return (
            "The loss takes the number of a class for each sample: give y the shape (batch,), as"
            " with y.argmax(-1) of one-hot labels, or use categorical_crossentropy for these."
        )
    if not sparse and made is not None and not made.is_compatible_with(given):
        return (
            "The loss takes one-hot labels, of the shape of the output: use"
            " sparse_categorical_crossentropy for numbers of classes, or make them one-hot with"
            " keras.utils.to_categorical."
        )
    return None


def _of_weight(weight: Any) -> str | None:
    for part in [] if weight is None else tf.nest.flatten(weight):
        if part.dtype == tf.string or part.shape.rank != 1:
            return "sample_weight must be one number for each sample: of the shape (batch,)."
    return None


def _of_kind(x: Any) -> str | None:
    if not any(isinstance(part, _COMPOSITE) for part in tf.nest.flatten(x)):
        return None
    return "Make x dense: with to_tensor() of a ragged tensor, or tf.sparse.to_dense."


def _sentence(name: str, element: Any, model: Any) -> str:
    loss = described.loss(model)
    return (
        f"{name} does not fit the model: it has {described.data(element)}; {described.takes(model)}"
        f"{f', with the loss {loss}' if loss else ''}."
    )


def _has_strings(element: Any) -> bool:
    return any(spec.dtype == tf.string for spec in tf.nest.flatten(element))


def _is_of_user(error: BaseException) -> bool:
    """Whether the program's own code raised the error, or called the code that raised it."""
    return any(blame.is_of_user(f.filename) for f in traceback.extract_tb(error.__traceback__))


def _first_line(error: BaseException) -> str:
    """Returns Keras' message without its preamble and call arguments, and shortened."""
    lines = _COLORS.sub("", str(getattr(error, "message", error))).splitlines()
    told = " ".join(line.strip() for line in lines if not _PREAMBLE.search(line))
    told = told.split("Arguments received by")[0].strip() or type(error).__name__
    return told if len(told) <= _LONGEST else f"{told[:_LONGEST]}..."
