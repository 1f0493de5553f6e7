"""Pauses between two steps, in which a dialect reads or changes the values in the session."""

from __future__ import annotations

from typing import Protocol

import tensorflow.compat.v1 as tf


class Pauses(Protocol):
    """Methods that a training run calls between steps; all workers of a cluster pause together.

    Unlike a hook, a pause costs nothing in other steps: the loop runs until the next pause.
    """

    def begin(self, session: tf.Session, global_step: int) -> None:
        """Called before the first step, with the global step that the run starts from."""
        ...

    def next(self, global_step: int) -> int:
        """The first global step after `global_step` at which to pause."""
        ...

    def reached(self, session: tf.Session, global_step: int) -> bool:
        """Called after a step at which to pause; returns whether training is to stop."""
        ...

    def end(self, session: tf.Session, global_step: int) -> None:
        """Called after the last commit, in the open session, even if a signal ended the run."""
        ...
