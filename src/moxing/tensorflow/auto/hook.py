"""Watches a trial: records its metrics, and may raise its learning rate from step to step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.loop import run_state
from moxing.engine.model import learning_rate
from moxing.tensorflow.auto.curve import Curve, StopRule, window_of
from moxing.tensorflow.auto.params import ModelSize, WatchedSpec, read_names, values
from moxing.tensorflow.executor.hooks import AggregativeSessionRunHook

_WHO = "mox.auto.search"
_LARGE = 1_000_000  # The number of trainable parameters of a large model.
_RANGES = {ModelSize.SMALL: (1e-4, 10.0), ModelSize.LARGE: (1e-5, 3.0)}


@dataclass(frozen=True)
class Sweep:
    """The schedule of a range test, whose learning rate grows by the same factor at each step.

    Attributes:
        steps: the number of steps, without warmup.
        warmup_steps, warmup_rate: the number of warmup steps, and their constant learning rate.
        first, last: the first and last rate of the range; None: by the size of the model.
        model_size: LARGE or SMALL; None: by the number of trainable parameters.
        window, max_falls: arguments of the StopRule that ends the test.
    """

    steps: int
    warmup_steps: int = 0
    warmup_rate: float = 0.01
    first: float | None = None
    last: float | None = None
    model_size: str | None = None
    window: int = 50
    max_falls: int = 10

    def limits(self, size: int) -> tuple[float, float]:
        """Returns the lowest and highest rate for a model with `size` trainable parameters."""
        kind = self.model_size or (ModelSize.LARGE if size >= _LARGE else ModelSize.SMALL)
        first, last = _RANGES[kind]
        return self.first or first, self.last or last


@dataclass
class Watch:
    """The observations of a trial.

    Attributes:
        curves: the curve of each watched metric, by name.
        limits: the lowest and highest learning rate of the range test.
        blind: whether none of the program's functions read the learning rate.
    """

    curves: dict[str, Curve] = field(default_factory=dict)
    limits: tuple[float, float] = (0.0, 0.0)
    blind: bool = False


class TrialHook(AggregativeSessionRunHook):
    """A hook that records the metrics of a training.

    Args:
        metrics: scalar tensors by name; the stop rule checks the first one first.
        grows: whether a higher metric is better, by name.
        watch: receives the observations.
        spec: the spec that the program's functions got.
        every: the number of steps between recorded values.
        sweep: the schedule of learning rates; None: the program's own.
    """

    def __init__(
        self,
        metrics: Mapping[str, tf.Tensor],
        grows: Mapping[str, bool],
        watch: Watch,
        spec: WatchedSpec,
        every: int,
        sweep: Sweep | None,
    ) -> None:
        super().__init__()
        self._metrics, self._watch, self._spec = dict(metrics), watch, spec
        self._every, self._sweep = every, sweep
        watch.curves.update({name: Curve(grows[name]) for name in metrics})
        self._step = 0
        self._rate = self._before = math.nan
        self._rules: dict[str, StopRule] = {}
        if sweep is not None:
            window = window_of(sweep.window, sweep.steps // every)
            self._rules = {n: StopRule(grows[n], window, sweep.max_falls) for n in metrics}

    def support_aggregation(self) -> bool:
        return True

    def begin(self) -> None:
        self._watch.blind = "learning_rate" not in read_names(self._spec)
        if self._sweep is None:
            return
        sizes = [variable.shape.num_elements() or 0 for variable in tf.trainable_variables()]
        self._watch.limits = self._sweep.limits(sum(sizes))
        self._factor = run_state.variable("auto/learning_rate_factor", 1.0, tf.float32)
        self._own = learning_rate.take(self._factor, _WHO)

    def after_create_session(self, session: tf.Session, coord: tf.train.Coordinator) -> None:
        del coord
        if self._sweep is None:
            return
        # The rate without the factor: the one in the spec, or else the program's own.
        self._base = float(values(self._spec)["learning_rate"])
        if self._watch.blind and self._own:
            own = self._own[0]
            self._base = float(session.run(own) if tf.is_tensor(own) else own)
        self._set_rate(session)

    def before_run(self, run_context: tf.train.SessionRunContext) -> tf.train.SessionRunArgs:
        del run_context
        return tf.train.SessionRunArgs(self._metrics)

    def after_run(self, run_context: tf.train.SessionRunContext, run_values: Any) -> None:
        # The values belong to the variables before this step's update, made with the previous rate.
        made_by = self._rate if math.isnan(self._before) else self._before
        step, self._before = self._step, self._rate
        self._step += 1
        if self._sweep is not None:
            self._set_rate(run_context.session)
            step -= self._sweep.warmup_steps
        if step < 0 or step % self._every:
            return
        for name, value in run_values.results.items():
            self._watch.curves[name].add(made_by, float(value))
            why = self._rules[name].add(float(value)) if name in self._rules else None
            if why is not None:
                for curve in self._watch.curves.values():
                    curve.break_off(f"{name}: {why}")
                run_context.request_stop()

    def _set_rate(self, session: tf.Session) -> None:
        assert self._sweep is not None
        sweep, (first, last) = self._sweep, self._watch.limits
        done = self._step - sweep.warmup_steps
        if done < 0:
            self._rate = sweep.warmup_rate
        else:
            share = min(1.0, done / max(1, sweep.steps - 1))
            self._rate = first * (last / first) ** share
        run_state.write(self._factor, self._rate / self._base, session)
