"""Inputs that `mox export --input` states, in place of those of input_fn, which needs the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError, shown

_FORM: Final = "[NAME=]TYPE:SIZE,SIZE,..., such as float32:N,28,28,1 (N: of any size)"
_ANY: Final = ("N", "n", "?", "-1", "None")


@dataclass(frozen=True)
class Stated:
    """An input of the model.

    Attributes:
        name: its key among the inputs; None: its place is.
        dtype: its type.
        shape: its shape with the first dimension, that of the samples; None: any size.
    """

    name: str | None
    dtype: tf.DType
    shape: tuple[int | None, ...]


def parse(texts: Sequence[str]) -> tuple[Stated, ...]:
    """Reads the values of `--input`.

    Raises:
        MoxValueError: a text is no input, or only some have names.
    """
    found = tuple(map(_parse_one, texts))
    names = [one.name for one in found if one.name is not None]
    if names and (len(names) < len(found) or len(set(names)) < len(names)):
        raise MoxValueError(
            "--input: either every input has a name of its own, and model_fn gets a dict, or none"
            " has one, and it gets a list in this order."
        )
    return found


def input_fn(inputs: Sequence[Stated]) -> Callable[[str], Any]:
    """Returns an input_fn of placeholders."""

    def make(mode: str) -> Any:
        del mode
        made = [tf.placeholder(one.dtype, one.shape) for one in inputs]
        if inputs[0].name is None:
            return made
        return {one.name: tensor for one, tensor in zip(inputs, made, strict=True)}

    return make


def _parse_one(text: str) -> Stated:
    before, equals, described = text.rpartition("=")
    kind, colon, sizes = described.partition(":")
    try:
        dtype = tf.as_dtype(kind.strip())
        parts = [part.strip() for part in sizes.split(",")] if sizes.strip() else []
        shape = tuple(None if part in _ANY else int(part) for part in parts)
        if not colon or (equals and not before) or any((size or 0) < 0 for size in shape):
            raise ValueError
    except (TypeError, ValueError) as error:
        raise MoxValueError(f"--input={shown(text, plain=True)}: it must be {_FORM}.") from error
    return Stated(before or None, dtype, shape)
