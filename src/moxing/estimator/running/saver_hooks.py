"""CheckpointSaverHooks of a program: what they ask for, the run does itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError


@dataclass(frozen=True)
class Saving:
    """The hooks and listeners of a training, and when it saves.

    Attributes:
        hooks: those that are called.
        listeners: called around every commit.
        steps, seconds: between commits.
    """

    hooks: tuple[tf.train.SessionRunHook, ...]
    listeners: tuple[tf.train.CheckpointSaverListener, ...]
    steps: int | None
    seconds: float | None


def sorted_out(
    hooks: Sequence[tf.train.SessionRunHook],
    listeners: Sequence[tf.train.CheckpointSaverListener],
    steps: int | None,
    seconds: float | None,
) -> Saving:
    """Takes schedule and listeners of CheckpointSaverHooks, and the hooks themselves away.

    TensorFlow's hook neither syncs nor commits what it writes, and two savers in one directory
    would delete each other's checkpoints. As there, a hook's schedule counts instead of the
    RunConfig's.

    Args:
        hooks, listeners: as given.
        steps, seconds: of the RunConfig.
    """
    found = [hook for hook in hooks if isinstance(hook, tf.train.CheckpointSaverHook)]
    others = tuple(hook for hook in hooks if hook not in found)
    if not found:
        return Saving(others, tuple(listeners), steps, seconds)
    own: Any = found[0]
    added = [listener for hook in found for listener in hook._listeners]
    timer = own._timer
    return Saving(others, (*listeners, *added), timer._every_steps, timer._every_secs)


def refuse_saver_hooks(*hooks: Sequence[tf.train.SessionRunHook]) -> None:
    """Refuses CheckpointSaverHooks of a model function, which is called too late to be asked.

    Raises:
        MoxNotSupportedError: there is one.
    """
    if any(isinstance(hook, tf.train.CheckpointSaverHook) for part in hooks for hook in part):
        raise MoxNotSupportedError(
            "EstimatorSpec has a CheckpointSaverHook: the run saves by itself. Say when with"
            " tf.estimator.RunConfig(save_checkpoints_steps=...), or give the hook to"
            " Estimator.train(hooks=[...])."
        )
