"""Evaluates the current variables of a training, without waiting for its checkpoints."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.parallel import replicas
from moxing.errors import MoxNotSupportedError, MoxValueError, shown
from moxing.estimator.counts import whole
from moxing.estimator.estimator import Estimator
from moxing.estimator.specs import check_hooks, check_input_fn, check_steps


class InMemoryEvaluatorHook(tf.train.SessionRunHook):
    """Evaluates the current variables before the first step, at an interval, and at the end.

    Args:
        estimator: the Estimator that is trained.
        input_fn, steps, hooks, name: see `Estimator.evaluate`.
        every_n_iter: the number of steps between evaluations.

    Raises:
        MoxValueError: an argument that can't be used.
        MoxNotSupportedError: there are several processes.
    """

    def __init__(
        self,
        estimator: Estimator,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Sequence[tf.train.SessionRunHook] | None = None,
        name: str | None = None,
        every_n_iter: int = 100,
    ) -> None:
        every = whole(every_n_iter)
        if every is None or every <= 0:
            raise MoxValueError(
                f"InMemoryEvaluatorHook has every_n_iter={shown(every_n_iter)}; it must be a number"
                " above 0."
            )
        if estimator.config.num_worker_replicas > 1 or estimator.config.num_ps_replicas:
            raise MoxNotSupportedError(
                "InMemoryEvaluatorHook is for one process. Use tf.estimator.train_and_evaluate,"
                " whose chief evaluates its checkpoints."
            )
        check_input_fn("InMemoryEvaluatorHook", input_fn)
        self._estimator, self._input_fn, self._name = estimator, input_fn, name
        self._steps = check_steps("InMemoryEvaluatorHook", "steps", steps)
        self._hooks = check_hooks("InMemoryEvaluatorHook", hooks)
        self._every, self._done = every, 0

    def begin(self) -> None:
        variables = replicas.originals(tf.global_variables())
        self._saver = tf.train.Saver(variables, save_relative_paths=True)
        self._step = tf.train.get_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        del coord
        self._evaluate(session)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        del run_values
        self._done += 1
        if self._done % self._every == 0:
            self._evaluate(run_context.session)

    def end(self, session: Any) -> None:
        if self._done % self._every:
            self._evaluate(session)

    def _evaluate(self, session: Any) -> None:
        with tempfile.TemporaryDirectory(prefix="moxing-evaluation-") as room:
            prefix = self._saver.save(
                session,
                os.path.join(room, "model.ckpt"),
                global_step=int(session.run(self._step)),
                write_meta_graph=False,
            )
            self._estimator.evaluate(
                self._input_fn, self._steps, self._hooks, checkpoint_path=prefix, name=self._name
            )
