"""Opens a checkpoint with TensorFlow's own reader."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import CheckpointError


@dataclass(frozen=True)
class Stored:
    """The names, shapes and dtypes of the variables in a checkpoint.

    Attributes:
        prefix: prefix of the checkpoint.
        shapes: shapes of its variables, by name.
        dtypes: dtypes of its variables, by name.
    """

    prefix: str
    shapes: Mapping[str, Sequence[int]]
    dtypes: Mapping[str, tf.DType]


def stored(prefix: str) -> Stored:
    """Reads the names, shapes and dtypes of a checkpoint, not its values.

    Raises:
        CheckpointError: the checkpoint can't be opened.
    """
    reader = opened(prefix)
    return Stored(prefix, reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map())


def read_through(prefix: str) -> int:
    """Reads every value, so that TensorFlow checks its CRC; returns the number of variables.

    Raises:
        CheckpointError: a value can't be read.
    """
    reader = opened(prefix)
    dtypes = reader.get_variable_to_dtype_map()
    names = sorted(dtypes)
    for name in names:
        if dtypes[name] == tf.variant:
            continue  # The state of an iterator; only RestoreV2 reads it.
        try:
            reader.get_tensor(name)
        except Exception as error:  # As in opened.
            raise unreadable(prefix, error) from error
    return len(names)


def unreadable(prefix: str, error: Exception) -> CheckpointError:
    """The error to raise when TensorFlow fails to read a checkpoint."""
    text = error.message if isinstance(error, tf.errors.OpError) else str(error)
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    first = lines[0] if lines else type(error).__name__
    reason = next((line for line in lines if os.path.basename(prefix) in line), first)
    return CheckpointError(f"Checkpoint {prefix} can't be read: {reason}.")


def opened(prefix: str) -> Any:
    """TensorFlow's reader of a checkpoint.

    Raises:
        CheckpointError: the checkpoint can't be opened.
    """
    try:
        # Not load_checkpoint: it takes a prefix without a name, `dir/`, for a directory.
        return tf.train.NewCheckpointReader(prefix)
    # TensorFlow raises IndexError, RuntimeError or an OpError, depending on its C++ status.
    except Exception as error:
        raise unreadable(prefix, error) from error
