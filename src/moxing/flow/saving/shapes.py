"""The file in a checkpoint's folder with the data type and shape of each variable.

The original does not write this file, and ignores it: there only the jobs know the shapes.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import CheckpointError
from moxing.flow.trace.variables import SHAPES_FILE as FILE


@dataclass(frozen=True)
class Shape:
    """The data type and shape of a variable."""

    dtype: tf.DType
    sizes: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """The number of bytes."""
        return math.prod(self.sizes) * self.dtype.size


def noting(
    variables: Iterable[tuple[str, np.ndarray]], notes: dict[str, Any]
) -> Iterator[tuple[str, np.ndarray]]:
    """Yields the same variables, and collects their types and shapes in `notes`."""
    for name, value in variables:
        notes[name] = [value.dtype.name, list(value.shape)]
        yield name, value


def encoded(notes: Mapping[str, Any]) -> bytes:
    """The content of the file."""
    lines = [f"{json.dumps(name)}: {json.dumps(note)}" for name, note in notes.items()]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def read(folder: str, named: str) -> dict[str, Shape]:
    """Reads the file of a checkpoint; returns an empty dict without a file.

    Args:
        folder: the folder of the checkpoint.
        named: the user's name for the folder.

    Raises:
        CheckpointError: the file can't be read.
    """
    try:
        with open(os.path.join(folder, FILE), encoding="utf-8") as stream:
            notes = json.load(stream)
        return {
            name: Shape(tf.as_dtype(dtype), tuple(map(int, sizes)))
            for name, (dtype, sizes) in notes.items()
        }
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"checkpoint {named}: its {FILE} can't be read ({error}). Delete the file and give"
            " shapes and types with --like."
        ) from error
