"""The names of moving averages of variables, in graphs and in checkpoints."""

from __future__ import annotations

from moxing.errors import CheckpointError

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
