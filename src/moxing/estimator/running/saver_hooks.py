"""Replaces a program's CheckpointSaverHooks: the run saves on their schedule itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError


@dataclass(frozen=True)
class Saving:
    """The hooks and listeners of a training, and its schedule of checkpoints.

    Attributes:
        hooks: the hooks to call, without CheckpointSaverHooks.
        listeners: the listeners to call around every commit.
        steps, seconds: the interval between commits.
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
    """Adopts the schedule and listeners of CheckpointSaverHooks, and removes these hooks.

    TensorFlow's hook neither syncs nor commits its files, and two savers in one directory would
    delete each other's checkpoints. As in TensorFlow, the schedule of a hook replaces the
    RunConfig's.

    Args:
        hooks, listeners: the program's hooks and listeners.
        steps, seconds: the schedule of the RunConfig.
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
    """Refuses CheckpointSaverHooks of a model function, which runs after the schedule is fixed.

    Raises:
        MoxNotSupportedError: a hook is a CheckpointSaverHook.
    """
    if any(isinstance(hook, tf.train.CheckpointSaverHook) for part in hooks for hook in part):
        raise MoxNotSupportedError(
            "EstimatorSpec has a CheckpointSaverHook: the run saves by itself. Say when with"
            " tf.estimator.RunConfig(save_checkpoints_steps=...), or give the hook to"
            " Estimator.train(hooks=[...])."
        )
