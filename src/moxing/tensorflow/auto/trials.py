"""Runs trials: short trainings and evaluations that leave no files."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from moxing import flags
from moxing.engine.loop.finite import NotFiniteError
from moxing.errors import MoxKeyError, near_matches
from moxing.flags import recording
from moxing.logs import TENSORFLOW
from moxing.tensorflow.auto.curve import diverged, window_of
from moxing.tensorflow.auto.hook import Sweep, TrialHook, Watch
from moxing.tensorflow.auto.params import WatchedSpec, read_names
from moxing.tensorflow.auto.passing import with_spec
from moxing.tensorflow.auto.score import DIVERGED, Score, judge
from moxing.tensorflow.executor import run as executor
from moxing.tensorflow.executor.callables import positional, presented_as
from moxing.tensorflow.executor.keys import ModeKeys
from moxing.tensorflow.executor.spec import ModelSpec

_SEED = 1  # The seed of all trials if the program has none, so that only the values tried differ.


@dataclass
class Trials:
    """The settings that all trials of a search share.

    Attributes:
        functions: the program's input_fn, model_fn and optimizer_fn, by name.
        arguments: further arguments of `mox.run`.
        steps: the number of steps in a trial's training.
        evaluation_steps: the number of batches in a trial's evaluation.
        metric: the name in log_info of the deciding metric.
        grows: whether a higher metric is better.
        loss_name: the name in log_info of the loss, if log_info has it.
        by_evaluation: whether an evaluation judges trials; else their training does.
        every: the number of steps between recorded values of a training.
        window: the number of values to average.
    """

    functions: Mapping[str, Any]
    arguments: Mapping[str, Any]
    steps: int
    evaluation_steps: int
    metric: str
    grows: bool
    loss_name: str
    by_evaluation: bool
    every: int
    window: int

    def range_test(self, parameters: Mapping[str, Any], sweep: Sweep) -> tuple[Watch, set[str]]:
        """Runs a range test; returns its observations and the names of the parameters read."""
        spec = WatchedSpec(**parameters)
        with flags_of_trials():
            return self._train(spec, None, sweep), read_names(spec)

    def score(
        self, parameters: Mapping[str, Any], evaluations: Mapping[str, list[Any]] | None = None
    ) -> tuple[list[Score], set[str]]:
        """Scores hyper-parameters by a trial.

        Args:
            parameters: the values that the functions get.
            evaluations: a parameter with the values for several evaluations of one training. None:
                one evaluation with `parameters`.

        Returns:
            A score for each evaluation, and the names of the parameters read.
        """
        spec = WatchedSpec(**parameters)
        evaluated = self.by_evaluation or evaluations is not None
        with flags_of_trials(), tempfile.TemporaryDirectory(prefix="moxing-auto-") as directory:
            watch = self._train(spec, directory if evaluated else None, None)
            curve = watch.curves[self.metric]
            window = window_of(self.window, len(curve.values))
            tried = self._tried(parameters, evaluations)
            if any(diverged(one, window) for one in watch.curves.values()):
                return [DIVERGED] * len(tried), read_names(spec)
            if not evaluated:
                losses = (
                    watch.curves[self.loss_name].values if self.loss_name in watch.curves else []
                )
                return [judge(curve.values, losses, self._sign, self.window)], read_names(spec)
            scores = []
            for one in tried:
                handed = WatchedSpec(**one)
                scores.append(self._evaluate(handed, directory))
                read_names(spec).update(read_names(handed))
            return scores, read_names(spec)

    def _tried(
        self, parameters: Mapping[str, Any], evaluations: Mapping[str, list[Any]] | None
    ) -> list[Mapping[str, Any]]:
        for name, candidates in (evaluations or {}).items():
            return [{**parameters, name: candidate} for candidate in candidates]
        return [parameters]

    def _train(self, spec: WatchedSpec, log_dir: str | None, sweep: Sweep | None) -> Watch:
        watch = Watch()

        def hooked(found: ModelSpec, mode: str) -> None:
            if mode == ModeKeys.TRAIN:
                hook = TrialHook(
                    self._metrics(found), self._growing(), watch, spec, self.every, sweep
                )
                found.hooks = [*found.hooks, hook]

        # One more step shows the effect of the last rate of the range.
        more = sweep.warmup_steps + 1 if sweep is not None else 0
        try:
            self._run(spec, ModeKeys.TRAIN, hooked, log_dir, self.steps + more)
        except NotFiniteError as error:
            TENSORFLOW.info("mox.auto.search: a trial ended: %s", error)
            for curve in watch.curves.values():
                curve.add(curve.rates[-1] if curve.rates else math.nan, math.nan)
                curve.break_off("it was not finite")
        return watch

    def _evaluate(self, spec: WatchedSpec, log_dir: str) -> Score:
        def check(found: ModelSpec, mode: str) -> None:
            del mode
            self._metrics(found)

        result = self._run(spec, ModeKeys.EVAL, check, log_dir, self.evaluation_steps)
        value = float(result.metrics[self.metric])
        if not math.isfinite(value):
            return DIVERGED
        return Score(self._sign * value, loss=float(result.metrics.get(self.loss_name, math.nan)))

    def _run(
        self,
        spec: WatchedSpec,
        mode: str,
        change: Callable[[ModelSpec, str], None],
        log_dir: str | None,
        steps: int,
    ) -> Any:
        arguments = dict(self.arguments)
        if mode != ModeKeys.TRAIN:
            arguments.pop("checkpoint_path", None)
        given = {name: with_spec(value, spec) for name, value in self.functions.items()}
        given["model_fn"] = changed(given["model_fn"], change)
        return executor.run(
            **given,
            **arguments,
            run_mode=mode,
            log_dir=log_dir,
            max_number_of_steps=steps,
            save_model_secs=None,
        )

    def _metrics(self, found: ModelSpec) -> dict[str, Any]:
        if self.metric not in found.log_info:
            role = "acc_name" if self.grows else "loss_name"
            names = list(found.log_info)
            raise MoxKeyError(
                f"{role}={self.metric!r} is not in ModelSpec's log_info."
                f"{near_matches(self.metric, names)} It has: {', '.join(names) or 'nothing'}. The"
                " search decides by it; by_acc=False decides by loss_name."
            )
        wanted = dict.fromkeys((self.metric, self.loss_name))
        return {name: found.log_info[name] for name in wanted if name in found.log_info}

    def _growing(self) -> dict[str, bool]:
        return {self.loss_name: False, self.metric: self.grows}

    @property
    def _sign(self) -> float:
        return 1.0 if self.grows else -1.0


def changed(model_fn: Any, change: Callable[[ModelSpec, str], None]) -> Any:
    call = positional("model_fn", model_fn, 2)

    def build(inputs: Any, mode: str) -> Any:
        found = call(inputs, mode)
        if isinstance(found, ModelSpec):
            change(found, mode)
        return found

    return presented_as(model_fn, build)


@contextmanager
def flags_of_trials() -> Iterator[None]:
    """In the block, nothing is profiled or sent to trackers; all trials draw the same numbers."""
    seed = flags.get_flag("seed")
    with (
        recording.without_loggers(),
        flags.overridden(profile_steps=None, seed=_SEED if seed is None else seed),
    ):
        yield
