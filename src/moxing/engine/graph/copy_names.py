"""The names that copies and moving averages of variables have, in graphs and in checkpoints."""

from __future__ import annotations

from typing import Final

from moxing.errors import CheckpointError

# Beginning of the name scope of each replica after the first, and of its copies of variables.
PREFIX: Final = "openmox_replica_"
# The name that tf.train.ExponentialMovingAverage gives its averages.
_SUFFIX = "/ExponentialMovingAverage"


def average_of(name: str) -> str:
    """The name of the moving average of the variable of this name."""
    return name + _SUFFIX


def is_average(name: str) -> bool:
    """Whether a name is that of a moving average."""
    return name.endswith(_SUFFIX)


def lacking(prefix: str) -> CheckpointError:
    """The error of a run that asks for averages which its checkpoint does not have."""
    return CheckpointError(
        f"--use_ema is given, but {prefix} has no moving averages of the model's variables. Train"
        " with --ema_decay=0.999, or leave --use_ema out."
    )
