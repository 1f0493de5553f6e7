"""`make_early_stopping_hook`: regularly asks a function whether training should stop."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError


def make_early_stopping_hook(
    estimator: Any,
    should_stop_fn: Any,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> tf.train.SessionRunHook:
    """Returns a hook that regularly asks a function whether training should stop.

    Args:
        estimator: not used.
        should_stop_fn: called without arguments in every process that trains; a true result ends
            the training.
        run_every_secs, run_every_steps: the interval between calls; exactly one must be given.

    Raises:
        MoxValueError: both or neither of the intervals are given.
    """
    del estimator
    if (run_every_secs is None) == (run_every_steps is None):
        raise MoxValueError("Give one of run_every_secs and run_every_steps, the other as None.")
    return _Asks(should_stop_fn, tf.train.SecondOrStepTimer(run_every_secs, run_every_steps))


class _Asks(tf.train.SessionRunHook):
    def __init__(self, should_stop: Any, timer: tf.train.SecondOrStepTimer) -> None:
        self._should_stop, self._timer, self._steps = should_stop, timer, 0

    def after_run(self, run_context: Any, run_values: Any) -> None:
        del run_values
        self._steps += 1
        if self._timer.should_trigger_for_step(self._steps):
            self._timer.update_last_triggered_step(self._steps)
            if self._should_stop():
                run_context.request_stop()
