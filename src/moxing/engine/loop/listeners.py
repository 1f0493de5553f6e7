"""Calls CheckpointSaverListeners around the commits of a run, as TensorFlow's saving hook does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow.compat.v1 as tf

from moxing.engine.wording import user_calls


class Listeners:
    """The listeners of a run: `begin`, around each commit, `end` after the last."""

    def __init__(self, listeners: Sequence[tf.train.CheckpointSaverListener]) -> None:
        self._listeners = tuple(listeners)

    def begin(self) -> None:
        """Calls `begin` of each listener, while operations can still be added to the graph."""
        for listener in self._listeners:
            _call(listener, "begin")

    def around(self, save: Callable[[], None], session: tf.Session, step: int) -> None:
        """Calls `before_save` of each listener, then `save`, then `after_save` of each listener."""
        for listener in self._listeners:
            _call(listener, "before_save", session, step)
        save()
        for listener in self._listeners:
            _call(listener, "after_save", session, step)

    def end(self, session: tf.Session, step: int) -> None:
        """Calls `end` of each listener, after the last commit, which has this step."""
        for listener in self._listeners:
            _call(listener, "end", session, step)


def _call(listener: tf.train.CheckpointSaverListener, method: str, *arguments: object) -> None:
    role = f"the listener {type(listener).__name__}'s"
    user_calls.call(role, getattr(listener, method), *arguments)
