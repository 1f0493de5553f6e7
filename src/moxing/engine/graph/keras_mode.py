"""Lets Keras layers that a model function calls follow the mode of the run.

A Keras layer that is called without `training=` uses the learning phase of its graph. If nothing
feeds the phase, it is always that of evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType

import tensorflow.compat.v1 as tf

_MARK = "follows_mode"
_training: ContextVar[bool | None] = ContextVar("keras_training", default=None)


@contextmanager
def following(training: bool) -> Iterator[None]:
    """In the block, layers called without `training=` behave as `training` says.

    A phase that the program itself sets with `K.set_learning_phase` takes precedence.
    """
    token = _training.set(training)
    try:
        yield
    finally:
        _training.reset(token)


def change(backend: ModuleType) -> None:
    """Makes the learning phase of tf_keras' backend follow the mode; a second call does nothing."""
    phase, is_set = backend.learning_phase, backend.global_learning_phase_is_set
    if getattr(phase, _MARK, False):
        return

    def learning_phase() -> object:
        training = _training.get()
        if training is None or _is_given(backend):
            return phase()
        return int(training)

    def global_learning_phase_is_set() -> bool:
        return _training.get() is not None or is_set()

    setattr(learning_phase, _MARK, True)
    backend.learning_phase = learning_phase
    backend.global_learning_phase_is_set = global_learning_phase_is_set


def _is_given(backend: ModuleType) -> bool:
    """Whether the program has set the phase of this graph."""
    return isinstance(backend._GRAPH_LEARNING_PHASES.get(tf.get_default_graph()), int)
