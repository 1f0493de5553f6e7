"""Ends a training when a metric of its evaluations crosses a threshold or stops improving."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, near_matches, shown
from moxing.estimator.described import Described
from moxing.estimator.hooks.asking import make_early_stopping_hook
from moxing.estimator.running import records
from moxing.logs import TENSORFLOW

_Better = Callable[[float, float], bool]


@dataclass(frozen=True)
class _Watched:
    """The arguments that all hooks share: the evaluations that a hook reads, and how often."""

    estimator: Described
    metric: str
    eval_dir: str | None
    min_steps: int
    seconds: float | None
    steps: int | None


def stop_if_higher_hook(
    estimator: Described,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> tf.train.SessionRunHook:
    """Returns a hook that ends training once a metric is above a threshold.

    Args:
        estimator: the Estimator that is trained here and evaluated in this or another process.
        metric_name: the name of one of the evaluations' metrics.
        threshold: the value that the metric must exceed.
        eval_dir: the directory of the evaluations' summaries; None: `estimator.eval_dir()`.
        min_steps: evaluations at earlier global steps are ignored.
        run_every_secs, run_every_steps: the interval between reads; exactly one must be given.

    Raises:
        MoxTypeError, MoxValueError: an argument that can't be used.
    """
    watched = _Watched(estimator, metric_name, eval_dir, min_steps, run_every_secs, run_every_steps)
    return _threshold(watched, threshold, operator.gt, "higher")


def stop_if_lower_hook(
    estimator: Described,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> tf.train.SessionRunHook:
    """Returns a hook that ends training once a metric falls below a threshold.

    See `stop_if_higher_hook` for the arguments.
    """
    watched = _Watched(estimator, metric_name, eval_dir, min_steps, run_every_secs, run_every_steps)
    return _threshold(watched, threshold, operator.lt, "lower")


def stop_if_no_increase_hook(
    estimator: Described,
    metric_name: str,
    max_steps_without_increase: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> tf.train.SessionRunHook:
    """Returns a hook that ends training once a metric stops rising.

    Args:
        max_steps_without_increase: the number of global steps without a new best value after which
            training ends.
        others: see `stop_if_higher_hook`.
    """
    watched = _Watched(estimator, metric_name, eval_dir, min_steps, run_every_secs, run_every_steps)
    return _patience(watched, max_steps_without_increase, operator.gt)


def stop_if_no_decrease_hook(
    estimator: Described,
    metric_name: str,
    max_steps_without_decrease: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> tf.train.SessionRunHook:
    """Returns a hook that ends training once a metric stops falling.

    Args:
        max_steps_without_decrease: the number of global steps without a new best value after which
            training ends.
        others: see `stop_if_higher_hook`.
    """
    watched = _Watched(estimator, metric_name, eval_dir, min_steps, run_every_secs, run_every_steps)
    return _patience(watched, max_steps_without_decrease, operator.lt)


def _threshold(
    watched: _Watched, threshold: float, crossed: _Better, word: str
) -> tf.train.SessionRunHook:
    def stops(values: Mapping[int, float]) -> bool:
        for step, value in values.items():
            if crossed(value, threshold):
                TENSORFLOW.info(
                    "Stopping early: %s = %g at step %d is %s than %g.",
                    *(watched.metric, value, step, word, threshold),
                )
                return True
        return False

    return _hook(watched, stops)


def _patience(watched: _Watched, patience: int, better: _Better) -> tf.train.SessionRunHook:
    def stops(values: Mapping[int, float]) -> bool:
        best: tuple[int, float] | None = None
        for step, value in values.items():
            if best is None or better(value, best[1]):
                best = step, value
            elif step - best[0] >= patience:
                TENSORFLOW.info(
                    "Stopping early: the best %s is still that of step %d, %d steps ago; the limit"
                    " is %d.",
                    *(watched.metric, best[0], step - best[0], patience),
                )
                return True
        return False

    return _hook(watched, stops)


def _hook(
    watched: _Watched, stops: Callable[[Mapping[int, float]], bool]
) -> tf.train.SessionRunHook:
    """Makes a hook that checks in the chief only, whose stop request stops all processes."""
    estimator, metric = watched.estimator, watched.metric
    if not isinstance(estimator, Described):
        raise MoxTypeError(
            f"an early-stopping hook has estimator={shown(estimator)}; it must be a"
            " tf.estimator.Estimator."
        )
    place = watched.eval_dir or estimator.eval_dir()

    def should_stop() -> bool:
        evaluations = records.read_eval_metrics(place)
        known = {step: one for step, one in evaluations.items() if step >= watched.min_steps}
        missing = next((one for one in known.values() if metric not in one), None)
        if missing is not None:
            raise MoxValueError(
                f"an early-stopping hook waits for the metric {metric!r}, which the evaluations in"
                f" {place} do not have; they have {', '.join(sorted(missing))}."
                f"{near_matches(metric, missing)}"
            )
        return stops({step: one[metric] for step, one in known.items()})

    if not estimator.config.is_chief:
        return tf.train.SessionRunHook()
    return make_early_stopping_hook(estimator, should_stop, watched.seconds, watched.steps)
