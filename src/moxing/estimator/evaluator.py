"""The evaluator process of a job: evaluates the checkpoints that other processes train."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from moxing.engine.wording import report
from moxing.errors import CheckpointError, MoxRuntimeError
from moxing.estimator.estimator import Estimator
from moxing.estimator.running import checkpoints
from moxing.estimator.specs import EvalSpec
from moxing.logs import TENSORFLOW

_LOOK_SECONDS = 2.0
# An unfinished training that commits no checkpoint for this long counts as dead: by default,
# a training commits one every 600 s.
_IDLE_SECONDS = 3600.0
_TELL_SECONDS = 60.0
# A training that a hook ended early goes on if the next one starts within this time.
_SETTLED_SECONDS = 60.0


@dataclass(frozen=True)
class Patience:
    """How long the evaluator waits for a checkpoint, in seconds.

    Attributes:
        first: for the first one.
        next: for each further one.
        sleep, clock: functions that tests replace.
    """

    first: float
    next: float = _IDLE_SECONDS
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


def follow(
    estimator: Estimator,
    limit: int,
    spec: EvalSpec,
    patience: Patience,
    notify: Callable[[dict[str, Any], str], None] = lambda values, path: None,
) -> dict[str, Any]:
    """Evaluates each newest checkpoint in model_dir until the training's last one.

    Args:
        estimator: the Estimator whose model_dir is watched.
        limit: the global step at which the training ends, unless its data ends earlier.
        spec: how to evaluate, with its start_delay_secs and throttle_secs.
        patience: how long to wait for a checkpoint; the first wait follows start_delay_secs.
        notify: called with the metrics and the checkpoint of each evaluation except the last.

    Returns:
        The metrics of the last checkpoint.

    Raises:
        MoxRuntimeError: no new checkpoint appeared in as long as `patience` allows.
    """
    sleep, clock = patience.sleep, patience.clock
    TENSORFLOW.info("Waiting %.0f s before the first evaluation.", spec.start_delay_secs)
    _wait(spec.start_delay_secs, sleep)
    if checkpoints.newest(estimator.model_dir, quiet=True) is None:
        TENSORFLOW.info("Waiting for the first checkpoint in %s.", estimator.model_dir)
    evaluated: str | None = None
    values: dict[str, Any] = {}
    waiting = told = clock()
    while True:
        newest = checkpoints.newest(estimator.model_dir, quiet=True)
        if newest is None or newest == evaluated:
            longest = patience.first if evaluated is None else patience.next
            if clock() - waiting > longest:
                raise MoxRuntimeError(_nothing(estimator.model_dir, evaluated, longest))
            if clock() - max(told, waiting) >= _TELL_SECONDS:
                told = clock()
                TENSORFLOW.info("%s", _still(estimator.model_dir, evaluated, told - waiting))
            sleep(_LOOK_SECONDS)
            if newest is not None and _is_last(newest, limit):
                return values
            settled = clock() - waiting >= _SETTLED_SECONDS
            if newest and settled and checkpoints.ended_early(estimator.model_dir, newest, limit):
                TENSORFLOW.info("The training ended early, at step %d.", checkpoints.step(newest))
                return values
            continue
        started = clock()
        try:
            values = estimator.evaluate(
                spec.input_fn, spec.steps, spec.hooks, checkpoint_path=newest, name=spec.name
            )
            if not _is_last(newest, limit):
                notify(values, newest)
        except (CheckpointError, OSError):
            if checkpoints.newest(estimator.model_dir, quiet=True) == newest:
                raise
            continue  # The training has deleted this checkpoint and has a newer one.
        evaluated, waiting = newest, clock()
        if _is_last(newest, limit):
            return values
        _wait(min(spec.throttle_secs - (clock() - started), spec.throttle_secs), sleep)
        waiting = clock()


def _wait(seconds: float, sleep: Callable[[float], None]) -> None:
    if seconds > 0:
        sleep(seconds)


def _is_last(prefix: str, limit: int) -> bool:
    """Whether this is the training's last checkpoint."""
    return checkpoints.step(prefix) >= limit or checkpoints.ended_with(prefix) == limit


def _still(model_dir: str, evaluated: str | None, seconds: float) -> str:
    after = f" after {evaluated}" if evaluated else ""
    return (
        f"Still waiting for a checkpoint{after} in {model_dir}, for {report.duration(seconds)} by"
        " now."
    )


def _nothing(model_dir: str, evaluated: str | None, seconds: float) -> str:
    if evaluated is None:
        return (
            f"The evaluator found no checkpoint in {model_dir} within {seconds:.0f} s. Does the"
            " training run, with the same model_dir? Wait longer with --session_timeout."
        )
    return (
        f"The evaluator found no checkpoint after {evaluated} within {seconds:.0f} s, and training"
        " is not at its end. Start the evaluator again when the training goes on."
    )
