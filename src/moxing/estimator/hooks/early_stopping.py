"""Ends a training when a metric of its evaluations says so."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, near_matches, shown
from moxing.estimator.described import Described
from moxing.estimator.hooks.asking import make_early_stopping_hook
from moxing.estimator.running import records
from moxing.logs import TENSORFLOW

_Better = Callable[[float, float], bool]


def stop_if_higher_hook(
    estimator: Described,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> tf.train.SessionRunHook:
    """A hook that ends training once a metric is above a threshold.

    Args:
        estimator: that is trained and, by this or another process, evaluated.
        metric_name: of the evaluations' metrics.
        threshold: of the metric.
        eval_dir: where summaries of the evaluations are; None: `estimator.eval_dir()`.
        min_steps: evaluations of earlier steps do not count.
        run_every_secs, run_every_steps: how often to look; one of them is given.

    Raises:
        MoxTypeError, MoxValueError: an argument that can't be used.
    """
    return _threshold(
        *(estimator, metric_name, threshold, operator.gt, "higher"),
        *(eval_dir, min_steps, run_every_secs, run_every_steps),
    )


def stop_if_lower_hook(
    estimator: Described,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> tf.train.SessionRunHook:
    """A hook that ends training once a metric is below a threshold; see `stop_if_higher_hook`."""
    return _threshold(
        *(estimator, metric_name, threshold, operator.lt, "lower"),
        *(eval_dir, min_steps, run_every_secs, run_every_steps),
    )


def stop_if_no_increase_hook(
    estimator: Described,
    metric_name: str,
    max_steps_without_increase: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> tf.train.SessionRunHook:
    """A hook that ends training once a metric has not risen for so many steps.

    Args:
        max_steps_without_increase: steps between the best evaluation and a later one.
        others: as of `stop_if_higher_hook`.
    """
    return _patience(
        *(estimator, metric_name, max_steps_without_increase, operator.gt),
        *(eval_dir, min_steps, run_every_secs, run_every_steps),
    )


def stop_if_no_decrease_hook(
    estimator: Described,
    metric_name: str,
    max_steps_without_decrease: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> tf.train.SessionRunHook:
    """A hook that ends training once a metric has not fallen for so many steps.

    Args:
        max_steps_without_decrease: steps between the best evaluation and a later one.
        others: as of `stop_if_higher_hook`.
    """
    return _patience(
        *(estimator, metric_name, max_steps_without_decrease, operator.lt),
        *(eval_dir, min_steps, run_every_secs, run_every_steps),
    )


def _threshold(
    estimator: Described,
    metric: str,
    threshold: float,
    crossed: _Better,
    word: str,
    eval_dir: str | None,
    min_steps: int,
    seconds: float | None,
    steps: int | None,
) -> tf.train.SessionRunHook:
    def stops(values: Mapping[int, float]) -> bool:
        for step, value in values.items():
            if crossed(value, threshold):
                TENSORFLOW.info(
                    "Stopping early: %s = %g at step %d is %s than %g.",
                    *(metric, value, step, word, threshold),
                )
                return True
        return False

    return _hook(estimator, metric, stops, eval_dir, min_steps, seconds, steps)


def _patience(
    estimator: Described,
    metric: str,
    patience: int,
    better: _Better,
    eval_dir: str | None,
    min_steps: int,
    seconds: float | None,
    steps: int | None,
) -> tf.train.SessionRunHook:
    def stops(values: Mapping[int, float]) -> bool:
        best: tuple[int, float] | None = None
        for step, value in values.items():
            if best is None or better(value, best[1]):
                best = step, value
            elif step - best[0] >= patience:
                TENSORFLOW.info(
                    "Stopping early: the best %s is still that of step %d, %d steps ago; the limit"
                    " is %d.",
                    *(metric, best[0], step - best[0], patience),
                )
                return True
        return False

    return _hook(estimator, metric, stops, eval_dir, min_steps, seconds, steps)


def _hook(
    estimator: Described,
    metric: str,
    stops: Callable[[Mapping[int, float]], bool],
    eval_dir: str | None,
    min_steps: int,
    seconds: float | None,
    steps: int | None,
) -> tf.train.SessionRunHook:
    """Asks in the chief only: a request to stop is one of all processes."""
    if not isinstance(estimator, Described):
        raise MoxTypeError(
            f"an early-stopping hook has estimator={shown(estimator)}; it must be a"
            " tf.estimator.Estimator."
        )
    place = eval_dir or estimator.eval_dir()

    def should_stop() -> bool:
        evaluations = records.read_eval_metrics(place)
        known = {step: one for step, one in evaluations.items() if step >= min_steps}
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
    return make_early_stopping_hook(estimator, should_stop, seconds, steps)
