"""Words every log line of a run, so that there is one place to look when a program greps them.

The functions return text and print nothing. Values have three decimals, as these lines always had;
below 0.001, where that would hide a learning rate or a small loss, they have significant digits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import SupportsFloat

from moxing.engine.wording.option_names import limit, option

_SMALL = 1e-3
_UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB")
ENDLESS = 1 << 53  # A larger limit of steps means no limit, such as sys.maxsize.
_HUGE = 1e16  # From here on, doubles have no decimals to show.


def step_line(
    local_step: int,
    global_step: int,
    samples_per_second: float | None,
    values: Mapping[str, SupportsFloat],
) -> str:
    """`step: 10(global step: 10)<TAB>sample/sec: 42.087<TAB>loss: 3.451`, in the order of `values`.

    Args:
        local_step: steps of this process before this one.
        global_step: global step of the variables that this step started from.
        samples_per_second: left out if None.
        values: scalars by name.
    """
    parts = [f"step: {local_step}(global step: {global_step})"]
    if samples_per_second is not None:
        parts.append(f"sample/sec: {number(samples_per_second)}")
    return "\t".join([*parts, *_named(values)])


def eval_line(samples: int, values: Mapping[str, SupportsFloat]) -> str:
    """`loss: 0.312<TAB>accuracy: 0.906<TAB>[64 examples]`; without values `<TAB>[64 examples]`.

    Args:
        samples: the number of samples so far, this batch included.
        values: scalars of this batch, by name.
    """
    return "\t".join(_named(values)) + f"\t[{samples} examples]"


def hook_line(prefix: str, step: int, values: Mapping[str, SupportsFloat]) -> str:
    """`[VALIDATION METRICS] step: 31 loss: 0.413 accuracy: 0.906`: with spaces for tabs."""
    return " ".join([prefix, f"step: {step}", *_named(values)])


def best_checkpoint(metric: str, value: float, step: int, folder: str) -> str:
    """`the best accuracy, 0.912 at global step 50, is in out/best`."""
    return f"the best {metric}, {number(value)} at global step {step}, is in {folder}"


def running_will_end(step: int) -> str:
    """`Running will end at step: 1000`, or another sentence if the number means no limit."""
    if step >= ENDLESS:
        return "Running will end where its data ends, or when it is stopped."
    return f"Running will end at step: {step}"


def absolute(log_dir: str, path: str) -> str:
    """`log_dir 'output' is /home/me/output`: other lines show the path as it was given."""
    return f"{option('log_dir')} {log_dir!r} is {path}"


def already_exported(log_dir: str | None) -> str:
    """Says that a finished run, started again, keeps the export that has its version already."""
    return f"Its export is in {log_dir} already. To export once more, give another version, or -1."


def global_step_per_second(rate: float) -> str:
    """`global_step/sec: 571.232`, with TensorFlow's six significant digits."""
    return f"global_step/sec: {rate:g}"


def saving_checkpoint(step: int, path: str) -> str:
    """`Saving checkpoints for 0 into logs/model.ckpt.`, where `path` has no step yet."""
    return f"Saving checkpoints for {step} into {path}."


def ignoring_checkpoint_path(log_dir: str) -> str:
    """Said if log_dir has a checkpoint and `checkpoint_path` names another checkpoint."""
    return (
        f"Ignoring {option('--checkpoint_path')} because a checkpoint already exists in {log_dir}"
    )


def later_elsewhere(prefix: str, step: int) -> str:
    """Says that a worker's folder has a later checkpoint than worker 0's, from which all start."""
    return (
        f"This worker has {prefix}, but the job starts from step {step}: the {option('log_dir')} of"
        " worker 0 is on another machine and lacks this checkpoint. Give all workers one folder, in"
        " a shared file system or a store, or start the machines in the order of the run before."
    )


def already_reached(log_dir: str, step: int, max_steps: int) -> str:
    """Says why a run ends at once: its checkpoint is at or past the last step."""
    return (
        f"checkpoint in {log_dir} is already at step {step} >= {limit(max_steps)};"
        f" nothing to train: raise it or use another {option('log_dir')}"
    )


def input_already_ended(log_dir: str, step: int) -> str:
    """Says why a run ends at once: an earlier run trained on all data of the input."""
    return (
        f"checkpoint in {log_dir} is already at step {step}, where its input ended; nothing to"
        f" train: give more data with another {option('max_number_of_steps')}, or use another"
        f" {option('log_dir')}"
    )


def unused_batches(taken: int, of: int) -> str:
    """Said if data ends within a step of several batches.

    Args:
        taken: batches that the step had.
        of: batches that a step has.
    """
    unused = "1 batch" if taken == 1 else f"{taken} batches"
    return (
        f"The data ended within a step: its last {unused} of the {of} that a step accumulates"
        " changed no weight. Repeat the data (Dataset.repeat), or accumulate fewer batches."
    )


def stopped(signal: str, step: int, checkpoint: str | None, by_chief: bool = False) -> str:
    """The last words of a run that a signal ended.

    Args:
        signal: the name of the signal.
        step: the global step.
        checkpoint: prefix of the last checkpoint; None if there is none, or the chief has it.
        by_chief: whether another process, the chief, saves.
    """
    if by_chief:
        return f"Stopped by {signal} at step {step}, which worker 0 saves."
    if checkpoint is None:
        name = option("log_dir")
        return f"Stopped by {signal} at step {step}; no {name} was given, so nothing was saved."
    return (
        f"Stopped by {signal} at step {step}, which is saved: {checkpoint}. The same command goes"
        " on from there."
    )


def stopped_before(signal: str) -> str:
    """The last words of a run that a signal ended while it waited for its first data."""
    return f"Stopped by {signal} before the first step of this run."


def stopped_unsaved(signal: str, step: int, checkpoint: str | None) -> str:
    """The last words of a run that left a waiting step, and could not save the step before it.

    Args:
        signal: the name of the signal.
        step: the last finished step.
        checkpoint: prefix of the last checkpoint; empty if there is none; None: the run saves none.
    """
    if checkpoint is None:
        return stopped(signal, step, None)
    begins = f"from {checkpoint}" if checkpoint else "at its beginning"
    return (
        f"Stopped by {signal} at step {step}, which is not saved: the step after it still waits for"
        f" data and may have changed variables already. The same command goes on {begins}."
    )


def waits_for_data(step: int, alone: bool = True) -> str:
    """Said on a signal, where the step after this global step waits for data.

    Args:
        step: the global step.
        alone: whether there is no other process that the step could wait for.
    """
    whose = "its data" if alone else "data, here or in another process"
    return f"The step after step {step} still waits for {whose}: leaving without it."


def stalled(step: int, global_step: int, seconds: float, places: Sequence[str], alone: bool) -> str:
    """Says that a step has not ended yet, and where it waits.

    Args:
        step: the number of the step in this run.
        global_step: the global step before it.
        seconds: the time that the step has taken so far.
        places: the lines that Python code of the input is at.
        alone: whether there is no other process that the step could wait for.
    """
    said = (
        f"Step {step} (global step {global_step}) has not ended for {duration(seconds)}. SIGUSR1"
        " prints the stacks of all threads."
    )
    name = option("input_fn")
    if not places:
        others = "" if alone else "waits for another process, "
        data = f"waits for data that no Python code of {name} is making."
        return f"{said} It computes, {others}or {data}"
    return "\n  ".join([f"{said} Python code of {name} is at", *places])


def prediction_summary(*, global_step: int, batches: int, samples: int, seconds: float) -> str:
    """Sums up a prediction.

    Args:
        global_step: step of the checkpoint that predicted.
        batches: the number of batches.
        samples: the number of samples in all batches; 0 if that is not known.
        seconds: the time that it took.
    """
    seen = _count(batches, "batch", "batches")
    if samples:
        seen = f"{_count(samples, 'sample')} in {seen}"
    return f"Predicted {seen} at global step {global_step} in {duration(seconds)}"


def predicted(samples: int, seconds: float) -> str:
    """`Predicted 130 samples in 0.21 s`: with a model that the program holds."""
    return f"Predicted {_count(samples, 'sample')} in {duration(seconds)}"


def evaluated(seconds: float, values: Mapping[str, SupportsFloat]) -> str:
    """`Evaluated in 0.21 s:`, with metrics behind tabs: a model that the program holds."""
    return "\t".join([f"Evaluated in {duration(seconds)}:", *_named(values)])


def evaluation_summary(
    *,
    global_step: int,
    batches: int,
    samples: int | None,
    seconds: float,
    means: Mapping[str, SupportsFloat],
) -> str:
    """Sums up an evaluation: means over all of its data.

    Args:
        global_step: step of the checkpoint that was evaluated.
        batches: the number of batches.
        samples: the number of samples in all batches; None if that is not known.
        seconds: the time that it took.
        means: by name; weighted by the number of samples if that is known.
    """
    seen = _count(batches, "batch", "batches")
    if samples is not None:
        seen = f"{_count(samples, 'sample')} in {seen}"
    text = f"Evaluated {seen} at global step {global_step} in {duration(seconds)}, mean over all:"
    return "\t".join([text, *_named(means)])


def first_step(seconds: float, wait: float | None, together: bool) -> str:
    """Says where the time of a long first step went.

    Args:
        seconds: the time of the step.
        wait: the part of it that the step waited for its first batch; None: not measured.
        together: whether the step ends only when the first steps of other processes do.
    """
    text = f"The first step took {duration(seconds)}, in which TensorFlow planned and compiled it"
    if wait is not None and wait >= 1.0:
        text += f" and waited {duration(min(wait, seconds))} for the first batch"
    if together:
        text += ", and waited for the first steps of the other processes"
    return f"{text}."


def compiled_by_xla(folder: str | None) -> str:
    """Says that XLA compiles steps, and what that means for the first step.

    Args:
        folder: where compiled code is kept; None: nowhere.
    """
    kept = "" if folder is None else f" Later runs load the compiled code from {folder}."
    return f"XLA compiles the steps of this run, so the first one takes longer.{kept}"


def without_xla(why: str) -> str:
    """Says why XLA compiles nothing, and how a user has it compile nonetheless."""
    return f"XLA compiles nothing here: {why}. TF_XLA_FLAGS=--tf_xla_auto_jit=1 has it compile."


@dataclass(frozen=True)
class Pace:
    """How long the steps of a training took.

    Attributes:
        seconds: time of the steps.
        samples_per_second: mean over these steps; None where batch sizes are not known.
        data_wait: share of the time, from 0 to 1, that steps waited for input.
    """

    seconds: float
    samples_per_second: float | None = None
    data_wait: float | None = None


@dataclass(frozen=True)
class Places:
    """Where the files of a training are; None for what it did not write.

    Attributes:
        checkpoint: prefix of the last checkpoint.
        summaries: directory of the event files.
        export_dir: directory of the exported model.
        by_chief: whether another process, the chief, saves.
    """

    checkpoint: str | None = None
    summaries: str | None = None
    export_dir: str | None = None
    by_chief: bool = False


def training_summary(first_step: int, last_step: int, pace: Pace, places: Places) -> str:
    """Sums up a training and says where its files are, in one paragraph.

    Args:
        first_step: global step at the start.
        last_step: global step at the end.
        pace: how long the steps between took.
        places: where the files are.
    """
    samples = pace.samples_per_second
    facts = [f"{rate(samples)} samples/s"] if samples is not None else []
    if pace.data_wait is not None:
        facts.append(f"{percent(pace.data_wait)} of the time waiting for data")
    text = (
        f"Trained {_count(last_step - first_step, 'step')}, from global step {first_step} to"
        f" {last_step}, in {duration(pace.seconds)}"
    )
    named = {
        "Checkpoint": places.checkpoint,
        "Summaries": places.summaries,
        "Exported model": places.export_dir,
    }
    sentences = [f"{text}: {', '.join(facts)}." if facts else f"{text}."]
    sentences += [f"{name}: {place}." for name, place in named.items() if place]
    if places.by_chief:
        sentences.append("Worker 0 saves for all.")
    elif not any(named.values()):
        sentences.append(f"No {option('log_dir')} was given, so nothing was saved.")
    return " ".join(sentences)


def tried(rates: Mapping[str, float], best: str, steps: int) -> str:
    """`Of the placements tried for 50 steps each (a: 9.1, b: 12.3 steps/s), b is used.`"""
    each = ", ".join(f"{name}: {number(rate)}" for name, rate in rates.items())
    return f"Of the placements tried for {steps} steps each ({each} steps/s), {best} is used."


def nothing_to_try(placement: str, why: str) -> str:
    """`--variable_update=auto has nothing to choose from: ...; a is used.`"""
    return f"--variable_update=auto has nothing to choose from: {why}; {placement} is used."


def not_tried(placement: str, why: str) -> str:
    """`--variable_update=auto could not try a: why`"""
    return f"--variable_update=auto could not try {placement}: {why}"


def number(value: SupportsFloat) -> str:
    """`3.451`, `4.321e-05`, `0.000`, `nan`, `inf`."""
    as_float = float(value)
    size = abs(as_float)
    if math.isfinite(size) and (0 < size < _SMALL or size >= _HUGE):
        return f"{as_float:.3e}"
    return f"{as_float:.3f}"


def duration(seconds: float) -> str:
    """`0.42 s`, `3.4 s`, `42 s`, `1 min 23 s`, `2 h 05 min`, `3 d 04 h`."""
    if not math.isfinite(seconds) or seconds < 0:
        return "an unknown time"
    if seconds < 0.995:
        return f"{seconds:.2f} s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    minutes, hours = round(seconds / 60), round(seconds / 3600)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{hours // 24} d {hours % 24:02d} h"


def rate(per_second: float) -> str:
    """`85,993`, `42.1`, `0.0123`: three significant digits or all whole ones."""
    if not math.isfinite(per_second):
        return str(per_second)
    if per_second >= 99.95:
        return f"{per_second:,.0f}"
    return f"{per_second:.1f}" if per_second >= 1 else f"{per_second:.3g}"


def percent(share: float) -> str:
    """Words a share from 0 to 1: `3%`, or `<1%` for a share that is small but not 0."""
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"


def _named(values: Mapping[str, SupportsFloat]) -> list[str]:
    return [f"{name}: {number(value)}" for name, value in values.items()]


def _count(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def dropped(task: str, step: int, count: tuple[int, bool]) -> str:
    """Says that another process's data ended first.

    Args:
        task: the other process.
        step: the number of steps that were done.
        count: the number of steps for which this process still had data, and whether that is all.
    """
    steps, all_counted = count
    least = "" if all_counted else "at least "
    data = "1 step" if steps == 1 else f"{steps} steps"
    return (
        f"The data of {task} ended after {step} steps, so training ends for all. Dropped here:"
        f" data of {least}{data}. Give every worker as much data, or repeat it"
        f" (Dataset.repeat) and limit {option('max_number_of_steps')}."
    )


def size(count: float) -> str:
    """Returns a size as `203 bytes`, `12.3 KB` or `1.5 GB`, in powers of 1,000."""
    power = 0 if count < 1000 else min(int(math.log10(count)) // 3, len(_UNITS) - 1)
    if float(f"{count / 1000**power:.3g}") >= 1000 and 0 < power < len(_UNITS) - 1:
        power += 1  # 999,700 bytes are 1 MB in three digits.
    value = count / 1000**power
    return f"{value:.3g} {_UNITS[power]}" if power else f"{int(count)} bytes"
