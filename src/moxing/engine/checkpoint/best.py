"""Keeps the checkpoint with the best value of a metric, beside the newest ones."""

from __future__ import annotations

import math
import os

import tensorflow.compat.v1 as tf

from moxing.engine import checkpoint
from moxing.engine.graph import saveables
from moxing.engine.parallel import replicas
from moxing.logs import TENSORFLOW

DIRECTORY = "best"
_BEST = "best"


class BestCheckpoint:
    """The best checkpoint of a training run, kept in `<log_dir>/best`.

    It is committed like every other checkpoint. Its manifest holds the value of the metric, so
    that a resumed run knows the value to beat. Make this object inside the graph, before the graph
    is finalized.

    Args:
        log_dir: directory of the run.
        metric: name of the metric.
        grows: whether a larger value is better.
    """

    def __init__(self, log_dir: str, metric: str, grows: bool) -> None:
        self.directory = os.path.join(log_dir, DIRECTORY)
        checkpoint.ensure_directory(self.directory)
        self._metric = metric
        self._sign = 1.0 if grows else -1.0
        self._saver = checkpoint.Saver(
            self.directory,
            replicas.originals(tf.global_variables()),
            keep=1,
            objects=saveables.of_graph(),
        )
        self._global_step = tf.train.get_global_step()
        self.value, self.step = self._known()

    def offer(self, session: tf.Session, value: float) -> bool:
        """Saves the current values of the variables if `value` is better than any before.

        Args:
            session: session of the graph.
            value: the metric, computed with the current values of the variables.

        Returns:
            Whether `value` was better, so that a checkpoint was saved.
        """
        better = self.value is None or self._sign * value > self._sign * self.value
        if not math.isfinite(value) or not better:
            return False
        step = int(session.run(self._global_step))
        self._saver.save(session, step, {_BEST: {"metric": self._metric, "value": value}})
        self.value, self.step = value, step
        return True

    def _known(self) -> tuple[float | None, int | None]:
        found = checkpoint.newest(self.directory)
        record = checkpoint.read_extra(found).get(_BEST) if found is not None else None
        if found is None or not isinstance(record, dict):
            return None, None
        if record.get("metric") != self._metric:
            TENSORFLOW.warning(
                "%s is the best by %s, and this run keeps the best by %s: its first evaluation"
                " takes the place of it.",
                found.prefix,
                record.get("metric"),
                self._metric,
            )
            return None, None
        return float(record["value"]), found.step
