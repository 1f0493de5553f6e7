"""A hook that lowers the learning rate when a metric stops improving, and then ends training."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.job.ranking import grows
from moxing.engine.loop import run_state
from moxing.engine.model import learning_rate
from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.logs import TENSORFLOW
from moxing.tensorflow.executor import monitor as monitors
from moxing.tensorflow.executor.arguments import check_count
from moxing.tensorflow.executor.evaluation_hooks import LogEvaluationMetricHook


class PlateauLREarlyStoppingHook(LogEvaluationMetricHook):
    """Evaluates like `EarlyStoppingHook`; lowers the learning rate on plateaus, then stops.

    A plateau is `patience` consecutive evaluations that do not improve on the best value by more
    than `min_delta`. Each plateau multiplies the learning rate of every optimizer by `factor`, like
    Keras' ReduceLROnPlateau. The last of `plateau_patience` plateaus without an improvement in
    between ends training instead. The hook works with every optimizer of tf.train, whose learning
    rate may be a number, a tensor or a schedule (the factor then multiplies the schedule's rate).
    The checkpoint holds the factor and the counts, and a resumed run continues with them.

    Args:
        monitor_info, batch_size, samples_in_train, samples_in_eval, evaluate_every_n_epochs,
            prefix, save_best: see `LogEvaluationMetricHook`.
            monitor: the name in monitor_info of the metric.
            factor: the factor of the learning rate, at least 0 and below 1.
            patience: the number of consecutive evaluations without improvement that make a plateau.
            min_delta: the change that an improvement must exceed.
            cooldown: the number of evaluations that do not count after a change of the rate.
            min_lr: the minimum of the learning rate, or of the highest of several learning rates.
            mode: 'max' if a higher metric is better, 'min' if a lower one is; 'auto': higher is
                better if "acc", "auc" or "f1" is in the name.
            plateau_patience: the number of plateaus without an improvement that end training.

    Raises:
        MoxKeyError: monitor is not in monitor_info.
        MoxTypeError, MoxValueError: an argument is invalid.
        MoxNotSupportedError: raised when the run starts, if an optimizer has no learning rate that
            can be changed.
    """

    def __init__(
        self,
        monitor_info: Mapping[str, tf.Tensor],
        monitor: str,
        batch_size: int,
        samples_in_train: int,
        samples_in_eval: int,
        evaluate_every_n_epochs: int = 1,
        factor: float = 0.1,
        patience: int = 10,
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0.0,
        mode: str = "auto",
        plateau_patience: int = 3,
        prefix: str = "[PlateauLREarlyStopping]",
        save_best: str | bool = False,
    ) -> None:
        owner = type(self).__name__
        monitors.check(owner, monitor, monitor_info)
        super().__init__(
            monitor_info,
            batch_size,
            samples_in_train,
            samples_in_eval,
            evaluate_every_n_epochs,
            prefix,
            monitor if save_best is True else save_best,
        )
        if mode not in ("auto", "min", "max"):
            raise MoxValueError(f"{owner}: mode={shown(mode)}: it must be 'auto', 'min' or 'max'.")
        self._monitor = monitor
        self._factor = _number(owner, "factor", factor)
        if self._factor >= 1.0:
            raise MoxValueError(f"{owner}: factor={shown(factor)}: it must be below 1.")
        self._patience = check_count("patience", patience, 1)
        self._delta = _number(owner, "min_delta", min_delta)
        self._cooldown = check_count("cooldown", cooldown, 0)
        self._min_rate = _number(owner, "min_lr", min_lr)
        self._sign = 1.0 if grows(monitor, mode) else -1.0
        self._most_plateaus = check_count("plateau_patience", plateau_patience, 1)

    def prepare(self) -> None:
        self._scale = run_state.variable("plateau/learning_rate_factor", 1.0, tf.float32)
        # The elements: whether there is a best value, that value, and the numbers of evaluations
        # without improvement, of evaluations left in the cooldown, and of plateaus.
        self._state = run_state.variable("plateau/state", [0.0] * 5, tf.float64)
        self._rates = learning_rate.take(self._scale, type(self).__name__)

    def after_create_session(self, session: tf.Session, coord: tf.train.Coordinator) -> None:
        del coord
        known, best, waited, cooling, plateaus = (float(v) for v in session.run(self._state))
        self._best = best if known else None
        self._waited, self._cooling, self._plateaus = int(waited), int(cooling), int(plateaus)

    def evaluated(
        self, values: Mapping[str, float], run_context: tf.train.SessionRunContext
    ) -> None:
        if self._monitor not in values:
            return
        session = run_context.session
        if self._is_plateau(self._sign * float(values[self._monitor])):
            self._plateaus += 1
            if self._plateaus >= self._most_plateaus:
                TENSORFLOW.info("%s", self._line(f"training ends at plateau {self._plateaus}"))
                run_context.request_stop()
            else:
                self._lower(session)
        best = 0.0 if self._best is None else self._best
        counts = (self._waited, self._cooling, self._plateaus)
        run_state.write(self._state, [float(self._best is not None), best, *counts], session)

    def _is_plateau(self, value: float) -> bool:
        """Counts an evaluation in the same order as Keras' ReduceLROnPlateau."""
        if self._cooling:
            self._cooling -= 1
            self._waited = 0
        if math.isfinite(value) and (self._best is None or value > self._best + self._delta):
            self._best, self._waited, self._plateaus = value, 0, 0
        elif not self._cooling:
            self._waited += 1
        return self._waited >= self._patience

    def _lower(self, session: tf.Session) -> None:
        scale = float(session.run(self._scale))
        before = [float(_value(rate, session)) for rate in self._rates]
        now = [rate * scale for rate in before]
        if all(rate <= np.float32(self._min_rate) for rate in now):
            # The rate is at its minimum, but this is still a plateau: start to count the next one.
            self._waited = 0
            return
        scale = max(scale * self._factor, self._min_rate / max(before))
        run_state.write(self._scale, scale, session)
        self._waited, self._cooling = 0, self._cooldown
        changed = ", ".join(
            f"{old:g} -> {rate * scale:g}" for old, rate in zip(now, before, strict=True)
        )
        TENSORFLOW.info("%s", self._line(f"learning rate {changed}"))

    def _line(self, what: str) -> str:
        times = "1 evaluation" if self._patience == 1 else f"{self._patience} evaluations"
        where = f"{self._prefix} step: {self._step - 1}"
        return f"{where} {self._monitor} got no better in {times}: {what}"


def _value(rate: Any, session: tf.Session) -> Any:
    return session.run(rate) if tf.is_tensor(rate) or isinstance(rate, tf.Variable) else rate


def _number(owner: str, name: str, value: Any) -> float:
    """Returns a finite number of at least 0 as a float."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise MoxTypeError(f"{owner}: {name}={shown(value)}: it must be a number.") from error
    if not 0 <= number < math.inf:
        raise MoxValueError(f"{owner}: {name}={shown(value)}: it must be finite and at least 0.")
    return number
