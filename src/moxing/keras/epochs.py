"""Pauses a run between epochs for metrics, evaluation, callbacks and history."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint import best
from moxing.engine.process import team
from moxing.engine.reporting.records import recorder as recorders
from moxing.engine.wording import report
from moxing.keras.building import families
from moxing.keras.building.model import TrainedModel
from moxing.keras.building.trace import eager_mode
from moxing.keras.building.variables import METRIC, SLOT, WEIGHT, Held, to_graph, to_keras
from moxing.keras.callbacks import Callbacks
from moxing.logs import TENSORFLOW

_PREFIX = "val_"


@dataclass(frozen=True)
class Plan:
    """When a training pauses.

    Attributes:
        epoch: the number of steps in an epoch; None: the whole run is one epoch.
        every: the number of steps between evaluations; None: evaluations are at the ends of epochs.
        last: the global step at which training ends; None: unknown.
    """

    epoch: int | None
    every: int | None
    last: int | None


class Epochs:
    """Implements `Pauses` of a job: at the end of each epoch, and at each evaluation.

    Args:
        trained: the model in the graph; it knows its variables once the graph is built. Its eager
            model gets their values at each pause that needs them.
        plan: when epochs and evaluations are.
        evaluate: returns the metrics of the eager model, by name; None: no evaluation.
        callbacks: the program's callbacks.
        speaks: whether this process logs the metrics, which are the same in all processes.
    """

    def __init__(
        self,
        trained: TrainedModel,
        plan: Plan,
        evaluate: Callable[[], dict[str, float]] | None,
        callbacks: Callbacks,
        speaks: bool = True,
    ) -> None:
        self._model, self._trained = trained.model, trained
        self._epoch, self._every, self._last_step = plan.epoch, plan.every, plan.last
        self._evaluate, self._callbacks, self._speaks = evaluate, callbacks, speaks
        self.history: dict[str, list[float]] = {}
        self.epochs: list[int] = []
        self.ended = False
        # The global steps at the end of the last epoch and at the last evaluation.
        self._closed = self._evaluated = 0
        self._values: dict[str, float] = {}

    def begin(self, session: tf.Session, global_step: int) -> None:
        self._closed = self._evaluated = global_step
        if self._callbacks:
            first = global_step // self._epoch if self._epoch else 0
            epochs = -(-self._last_step // self._epoch) if self._epoch and self._last_step else None
            parameters = {"epochs": epochs, "steps": self._epoch, "verbose": 0}
            with self._given_back(session):
                self._callbacks.begin(parameters)
                self._callbacks.epoch_begin(first)
                self._callbacks.batch_begin(self._batch(global_step))
            self._tell_of_batches()

    def next(self, global_step: int) -> int:
        if self._callbacks.of_batches:
            return global_step + 1
        due = [_multiple(global_step, self._epoch)] if self._epoch else []
        if self._evaluate is not None and self._every:
            due.append(_multiple(global_step, self._every))
        return min(due, default=1 << 62)

    def reached(self, session: tf.Session, global_step: int) -> bool:
        stop = bool(self._callbacks.of_batches) and self._end_batch(session, global_step)
        if self._every and global_step % self._every == 0:
            self._evaluation(session, global_step)
        if self._epoch and global_step % self._epoch == 0:
            stop = self._close_epoch(session, global_step) or stop
        if self._callbacks.of_batches and not stop and global_step != self._last_step:
            with self._given_back(session):
                stop = self._callbacks.batch_begin(self._batch(global_step))
        return stop

    def end(self, session: tf.Session, global_step: int) -> None:
        if global_step > self._closed:
            self._close_epoch(session, global_step)
        to_keras(session, self._of_kind(WEIGHT, SLOT))
        self.ended = True
        if self._callbacks:
            self._callbacks.end(self._last())

    def _batch(self, global_step: int) -> int:
        """Returns the number, in its epoch, of the batch after this step."""
        return global_step % self._epoch if self._epoch else global_step

    def _end_batch(self, session: tf.Session, global_step: int) -> bool:
        """Calls callbacks after a batch; returns whether to stop."""
        logs = self._metrics(session, global_step, reset=False)
        counter = getattr(self._model, "_train_counter", None)
        with self._given_back(session):
            if counter is not None:  # tf_keras counts the steps of its own summaries with it.
                with eager_mode():
                    counter.assign(global_step)
            return self._callbacks.batch_end(self._batch(global_step - 1), logs)

    def _tell_of_batches(self) -> None:
        if self._callbacks.of_batches and self._speaks:
            TENSORFLOW.info(
                "Training pauses at every step, which takes time, for callbacks that work in every"
                " batch: %s.",
                ", ".join(self._callbacks.of_batches),
            )

    def _close_epoch(self, session: tf.Session, global_step: int) -> bool:
        logs = self._metrics(session, global_step)
        if self._evaluate is not None and not self._every:
            self._evaluation(session, global_step)
        if self._evaluated > self._closed:
            logs |= {f"{_PREFIX}{name}": value for name, value in self._values.items()}
        number = (global_step - 1) // self._epoch if self._epoch else 0
        self.epochs.append(number)
        self._closed = global_step
        self._say(f"[epoch {number + 1}]", global_step, logs)
        self._keep_if_best(session, logs, of_training=True)
        stop = self._call_back(session, number, logs, global_step == self._last_step)
        for name, value in logs.items():
            self.history.setdefault(name, []).append(value)
        return stop

    def _call_back(
        self, session: tf.Session, number: int, logs: dict[str, float], ends: bool
    ) -> bool:
        """Calls callbacks at an epoch's end and the next one's start; returns whether to stop.

        Changes that callbacks make to the model go into the graph; what they add to the logs, such
        as the learning rate, goes into the history.
        """
        if not self._callbacks:
            return False
        with self._given_back(session):
            stop = self._callbacks.epoch_end(number, logs)
            return stop or (not ends and self._callbacks.epoch_begin(number + 1))

    @contextmanager
    def _given_back(self, session: tf.Session) -> Iterator[None]:
        """In the block, the model has the graph's values; afterwards, the graph has the model's."""
        held = self._of_kind(WEIGHT, SLOT)
        to_keras(session, held)
        before = [np.array(value) for value in families.read([one.eager for one in held])]
        yield
        to_graph(session, held, before)

    def _metrics(
        self, session: tf.Session, global_step: int, reset: bool = True
    ) -> dict[str, float]:
        """Returns the metrics of the epoch over all devices and processes; may reset them."""
        held = self._of_kind(METRIC)
        values = session.run([one.graph for one in held])
        if reset:
            session.run([variable.initializer for one in held for variable in one.graph])
        sums = [np.sum(np.stack(parts), axis=0) for parts in values]
        everyone = team.gathered(
            f"metrics of {'step' if reset else 'batch'} {global_step}",
            [value.tolist() for value in sums],
        )
        sums = [
            np.sum([np.asarray(part[n], value.dtype) for part in everyone], axis=0)
            for n, value in enumerate(sums)
        ]
        families.write([one.eager for one in held], sums)
        with eager_mode():
            logs = self._model.get_metrics_result()
            logs = {name: float(value) for name, value in flat(logs).items()}
            self._model.reset_metrics()
        return logs

    def _evaluation(self, session: tf.Session, global_step: int) -> None:
        def make() -> dict[str, float]:
            to_keras(session, self._of_kind(WEIGHT))
            assert self._evaluate is not None
            return self._evaluate()

        started = time.perf_counter()
        self._values = team.of_chief(make)
        self._evaluated = global_step
        recorder = recorders.of_graph()
        if recorder is not None:
            seconds = time.perf_counter() - started
            recorder.evaluated("[EVAL]", self._values, None, seconds, after=global_step)
        self._say("[EVAL]", global_step, self._values)
        values = {f"{_PREFIX}{name}": value for name, value in self._values.items()}
        self._keep_if_best(session, values, of_training=False)

    def _keep_if_best(
        self, session: tf.Session, values: Mapping[str, float], of_training: bool
    ) -> None:
        """Offers the metrics to the keeper of the best checkpoints, which uses one metric."""
        keeper = best.of_graph()
        if keeper is None:
            return
        # An epoch's end repeats the last evaluation's metrics, which may be of an earlier step.
        wanted = not keeper.folder.ranking.metric.startswith(_PREFIX)
        if wanted == of_training:
            keeper.offer(session, values)

    def _say(self, prefix: str, global_step: int, values: Mapping[str, float]) -> None:
        if self._speaks:
            TENSORFLOW.info("%s", report.hook_line(prefix, global_step, values))

    def _of_kind(self, *kinds: str) -> list[Held]:
        assert self._trained.variables is not None
        return self._trained.variables.of_kind(*kinds)

    def _last(self) -> dict[str, float]:
        return {name: values[-1] for name, values in self.history.items() if values}


def flat(logs: Mapping[str, Any]) -> dict[str, Any]:
    """Flattens nested dicts of metrics, which models with several outputs have."""
    found: dict[str, Any] = {}
    for name, value in logs.items():
        if isinstance(value, Mapping):
            found |= {f"{name}_{inner}": one for inner, one in flat(value).items()}
        else:
            found[name] = value
    return found


def _multiple(step: int, every: int | None) -> int:
    """Returns the first multiple of `every` after `step`."""
    assert every
    return (step // every + 1) * every
