"""Profiles a few steps of a run with TensorFlow's own profiler, for TensorBoard's profile page."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow import profiler

from moxing.logs import TENSORFLOW


class Profile:
    """The profile of some steps, written into `<log_dir>/plugins/profile`.

    TensorFlow has one profiler per process. If it can't start, the run goes on without a profile.

    Args:
        log_dir: directory of the run; None: there is no profile.
        steps: the first step of this run to profile, and the first step after the profile; None:
            there is no profile.
    """

    def __init__(self, log_dir: str | None, steps: tuple[int, int] | None) -> None:
        self._log_dir = log_dir or ""
        self._first, self._end = steps or (0, 0)
        self._running = self._tried = False
        wanted = log_dir is not None and steps is not None
        # Steps without hooks are faster, so only a profiled run has this hook.
        self.hooks: tuple[tf.train.SessionRunHook, ...] = (_ProfileHook(self),) if wanted else ()

    def before(self, step: int) -> None:
        """Called before each step of a run; steps count from 0."""
        if step < self._first or self._tried:
            return
        self._tried = True
        try:
            profiler.experimental.start(self._log_dir)
            self._running = True
        except Exception as error:
            TENSORFLOW.warning("Can't profile steps %s: %s", self._named(), _first_line(error))

    def after(self, step: int) -> None:
        """Called after each step."""
        if step + 1 >= self._end:
            self.close()

    def close(self) -> None:
        """Writes the profile, if it is not written yet."""
        if not self._running:
            return
        self._running = False
        try:
            profiler.experimental.stop()
        except Exception as error:
            TENSORFLOW.warning("The profile is lost: %s", _first_line(error))
            return
        TENSORFLOW.info(
            "Profiled steps %s: tensorboard --logdir %s, with tensorboard-plugin-profile installed",
            self._named(),
            self._log_dir,
        )

    def _named(self) -> str:
        return f"{self._first}:{self._end}"


class _ProfileHook(tf.train.SessionRunHook):
    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._step = 0

    def before_run(self, run_context: Any) -> None:
        self._profile.before(self._step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._profile.after(self._step)
        self._step += 1


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
