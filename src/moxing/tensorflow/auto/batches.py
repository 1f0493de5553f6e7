"""`mox.auto.batch_size`: measures batch sizes in short trainings, and chooses one of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import tensorflow.compat.v1 as tf

from moxing import flags
from moxing.engine.graph import devices
from moxing.engine.wording import report
from moxing.errors import MoxNotSupportedError, MoxValueError
from moxing.flags import hello, rehearsal
from moxing.flags.placement import placement
from moxing.framework import peak_memory
from moxing.framework.free_memory import free_memory
from moxing.logs import TENSORFLOW
from moxing.tensorflow.auto.trials import changed, flags_of_trials
from moxing.tensorflow.executor import arguments, export_only
from moxing.tensorflow.executor import run as executor
from moxing.tensorflow.executor.hooks import AggregativeSessionRunHook
from moxing.tensorflow.executor.keys import ModeKeys
from moxing.tensorflow.executor.spec import ModelSpec

_WARMUP: Final = 2  # Steps that are not measured: TensorFlow plans the graph in them.
_LEAST: Final = 3  # Steps that are measured however long they take.
_GAIN: Final = 1.05  # A size is worth its memory if it is faster than a smaller one by this.
_IDLE: Final = 2  # Sizes in a row without such a gain, after which no larger one is tried.
_SHARE: Final = 0.8  # The share of the free memory that the next size may be expected to take.


@dataclass
class Trial:
    """The measurement of one batch size.

    Attributes:
        size: samples per batch and device.
        before, peak: the resident memory of the process before it and at most, in bytes.
        ends: the time after each step.
        rate: samples per second over all devices of this process; 0: no step was measured.
    """

    size: int
    before: int
    peak: int = 0
    ends: list[float] = field(default_factory=list)
    rate: float = 0.0


def batch_size(
    input_fn: Callable[..., Any],
    model_fn: Callable[..., Any],
    optimizer_fn: Any,
    start: int = 8,
    most: int = 4096,
    steps: int = 10,
    seconds: float = 10.0,
    checkpoint_path: Any = None,
) -> int:
    """Measures the sizes `start`, 2 * `start`, ... up to `most`, and returns one for `mox.run`.

    The result is the smallest size that reaches 95 % of the highest samples per second: a larger
    batch then costs memory and gains no speed. It says nothing about how well the model learns with
    this size; choose the learning rate for it, with `mox.auto.search`.

    On CPUs the kernel ends a process that takes too much memory, which no program can catch: a size
    is not tried if the memory of the sizes before it suggests that it takes more than 80 % of what
    is free. On GPUs the sizes end where TensorFlow runs out of memory.

    Args:
        input_fn, model_fn, optimizer_fn, checkpoint_path: see `mox.run`. input_fn returns single
            samples, which `mox.run` batches.
        start: the first size, in samples per batch and device.
        most: the largest size to try.
        steps: the number of measured steps of each size; two more come before them.
        seconds: the time after which a size's measurement ends, but for three steps.

    Returns:
        A number of samples per batch and device.

    Raises:
        MoxNotSupportedError: several processes train together.
        MoxValueError: `most` is below `start`, or the data has fewer than `start` samples.
        MoxError: see `mox.run`; also where `start` already takes too much memory.
    """
    hello.say_hello()
    flags.read_command_line()
    first = arguments.check_count("start", start, 1)
    last = arguments.check_count("most", most, 1)
    if last < first:
        raise MoxValueError(f"most={last}: it must be at least start, which is {first}.")
    if export_only.requested() is not None or rehearsal.wanted():
        return first  # One step, or none, with any size.
    if not placement().group.alone:
        raise MoxNotSupportedError(
            "mox.auto.batch_size works in one process: run it once without the cluster's flags, and"
            " give its result to mox.run(batch_size=...)."
        )
    given = {"input_fn": input_fn, "model_fn": model_fn, "optimizer_fn": optimizer_fn}
    measure = _Measure(
        {**given, "checkpoint_path": checkpoint_path},
        arguments.check_count("steps", steps, _LEAST),
        float(arguments.check_seconds("seconds", seconds) or 0.0),
    )
    trials, reason = _grown(measure, first, last)
    chosen = choose(trials)
    told = "; ".join(map(_told, trials))
    TENSORFLOW.info("mox.auto.batch_size chose %d (%s; %s).", chosen, told, reason)
    return chosen


def choose(trials: list[Trial]) -> int:
    """Returns the smallest size that is about as fast as the fastest."""
    best = max(trial.rate for trial in trials)
    return next(trial.size for trial in trials if trial.rate * _GAIN >= best)


def expected(trials: list[Trial], size: int) -> int:
    """Returns how much memory a larger size is expected to take beyond the largest peak so far."""
    last = trials[-1]
    if len(trials) == 1:
        a_sample = (last.peak - last.before) / last.size
    else:
        # Memory that an earlier size has freed may be taken again: the steepest step counts.
        pairs = zip(trials, trials[1:], strict=False)
        a_sample = max((two.peak - one.peak) / (two.size - one.size) for one, two in pairs)
    return max(0, int(a_sample * (size - last.size)))


def _grown(measure: _Measure, first: int, last: int) -> tuple[list[Trial], str]:
    """Tries growing sizes; returns the trials, and why there is none after them."""
    trials: list[Trial] = []
    size = first
    while size <= last:
        if trials and (reason := _too_much(trials, size)):
            return trials, reason
        try:
            trial = measure(size)
        except tf.errors.ResourceExhaustedError:
            if not trials:
                raise
            return trials, f"{size} takes more memory than there is"
        if not trial.rate:
            if not trials:
                raise MoxValueError(
                    f"input_fn's data ended within the {_WARMUP + _LEAST} steps that start={first}"
                    " needs at least. Repeat the data (Dataset.repeat), or lower start."
                )
            return trials, f"the data has too few samples for {size}"
        trials.append(trial)
        idle = [other.size for other in trials if other.size > choose(trials)]
        if len(idle) >= _IDLE:
            return trials, f"{trial.size} gains no speed"
        size *= 2
    return trials, f"no size above most={last} was tried"


def _too_much(trials: list[Trial], size: int) -> str:
    free = free_memory()
    if free is None or devices.has_gpu():
        return ""
    needs = expected(trials, size) + max(0, trials[-1].peak - peak_memory.now())
    if needs <= _SHARE * free:
        return ""
    return (
        f"{size} would take about {report.size(needs)} more memory, of which"
        f" {report.size(free)} are free"
    )


def _told(trial: Trial) -> str:
    return f"{trial.size}: {trial.rate:,.0f} samples/s, {report.size(trial.peak)} at most"


class _Measure:
    """Measures a size in a short training, which leaves no files.

    Args:
        given: the arguments of `mox.run` that are the same for all sizes.
        steps: the number of steps to measure.
        seconds: the time after which there are no further steps.
    """

    def __init__(self, given: dict[str, Any], steps: int, seconds: float) -> None:
        self._given, self._steps, self._seconds = given, steps, seconds

    def __call__(self, size: int) -> Trial:
        trial = Trial(size, peak_memory.now())
        peak_memory.begin()
        watch = _Watch(trial.ends, self._seconds)

        def hooked(found: ModelSpec, mode: str) -> None:
            del mode
            found.hooks = [*found.hooks, watch]

        steps = self._steps + _WARMUP
        given = {**self._given, "model_fn": changed(self._given["model_fn"], hooked)}
        with flags_of_trials():
            executor.run(
                **given,
                run_mode=ModeKeys.TRAIN,
                batch_size=size,
                max_number_of_steps=steps,
                log_every_n_steps=steps,
                save_model_secs=None,
            )
        took = [after - before for before, after in zip(trial.ends, trial.ends[1:], strict=False)]
        measured = took[_WARMUP - 1 :]
        if len(measured) < _LEAST:
            return replace(trial, peak=peak_memory.peak())
        samples = size * placement().devices * flags.get_flag("accumulate_steps")
        rate = samples / max(statistics.median(measured), 1e-9)
        return replace(trial, peak=peak_memory.peak(), rate=rate)


class _Watch(AggregativeSessionRunHook):
    """Notes when each step ends, and ends a training that takes long."""

    def __init__(self, ends: list[float], seconds: float) -> None:
        self._ends, self._seconds = ends, seconds

    def support_aggregation(self) -> bool:
        return True

    def after_run(self, run_context: tf.train.SessionRunContext, run_values: Any) -> None:
        del run_values
        self._ends.append(time.perf_counter())
        enough = len(self._ends) >= _WARMUP + _LEAST
        if enough and self._ends[-1] - self._ends[0] > self._seconds:
            run_context.request_stop()
