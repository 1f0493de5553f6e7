"""Stops between two steps, at which a dialect reads or changes what the session holds."""

from __future__ import annotations

from typing import Protocol

import tensorflow.compat.v1 as tf


class Pauses(Protocol):
    """What a training run calls between steps. In a cluster every worker pauses at the same steps.

    Unlike a hook it costs nothing in the steps between: the loop runs up to the next pause.
    """

    def begin(self, session: tf.Session, global_step: int) -> None:
        """Called before the first step, with the global step that the run goes on from."""
        ...

    def next(self, global_step: int) -> int:
        """The first global step after this one to pause at."""
        ...

    def reached(self, session: tf.Session, global_step: int) -> bool:
        """Called after such a step; whether training is to stop."""
        ...

    def end(self, session: tf.Session, global_step: int) -> None:
        """Called after the last commit, while the session is open, also where a signal stopped."""
        ...
