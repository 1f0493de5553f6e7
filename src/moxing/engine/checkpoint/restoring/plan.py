"""Decides which variables are restored, and from which entries of a checkpoint."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.entries import Entry
from moxing.engine.checkpoint.reader import Stored
from moxing.engine.checkpoint.restoring.filters import Filter, some
from moxing.engine.graph.copy_names import average_of, lacking
from moxing.engine.wording.option_names import option
from moxing.errors import CheckpointError, near_matches
from moxing.logs import TENSORFLOW

_FLOATS = (tf.float16, tf.bfloat16, tf.float32, tf.float64)
_STEP = "global_step"


@dataclass(frozen=True)
class Match:
    """A variable and the name of its value in the checkpoint."""

    entry: Entry
    source: str


@dataclass
class Plan:
    """A plan that says which variables are restored and which are initialized.

    Attributes:
        matches: variables with a value in the checkpoint.
        initialized: variables that get their initial value.
        missing: names of variables that the checkpoint should hold and does not.
        unfit: for each variable whose stored value does not fit, the sentence that says why.
    """

    matches: list[Match] = field(default_factory=list)
    initialized: list[Entry] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unfit: dict[str, str] = field(default_factory=dict)


def resume_plan(stored: Stored, entries: Sequence[Entry]) -> Plan:
    """The plan of a run that goes on where it stopped: the checkpoint must have every variable.

    Raises:
        CheckpointError: a variable is missing, or its stored value does not fit.
    """
    plan = Plan()
    for entry in entries:
        _place(plan, stored, entry, optional=False)
    if plan.missing or plan.unfit:
        names = [entry.name for entry in entries]
        raise CheckpointError(_changed_model(stored, plan, names))
    return plan


def warm_plan(
    stored: Stored, entries: Sequence[Entry], wanted: Filter, optional: Collection[int]
) -> Plan:
    """The plan of a run that starts from another run's weights.

    Variables that the filter leaves out are initialized.

    Args:
        stored: the checkpoint.
        entries: the graph's variables.
        wanted: the filter that says which variables to restore.
        optional: `id` of each variable that may be absent, such as an optimizer's slots.

    Raises:
        CheckpointError: a variable that is not optional is missing or does not fit, or the
            checkpoint has no variable of the model.
    """
    plan = Plan()
    names = [entry.name for entry in entries]
    if idle := wanted.idle(names):
        TENSORFLOW.warning("No variable matches the checkpoint pattern %s.", some(idle))
    left_out = tuple(name + "/" for name in names if not wanted.wants(name))
    for entry in entries:
        may_lack = id(entry.variable) in optional or _is_step(entry.name)
        # A weight that is initialized must not get its old momentum: its slots are initialized too.
        fresh_slot = may_lack and entry.name.startswith(left_out)
        if fresh_slot or not wanted.wants(entry.name):
            plan.initialized.append(entry)
        else:
            _place(plan, stored, entry, may_lack)
    needed = [e.name for e in entries if id(e.variable) not in optional and not _is_step(e.name)]
    _check_warm(stored, plan, wanted, needed)
    return plan


def with_averages(stored: Stored, matches: Sequence[Match]) -> list[Match]:
    """The matches with the moving averages of variables as their sources, where there are some.

    Raises:
        CheckpointError: the checkpoint has no average of these variables.
    """
    changed = [
        Match(match.entry, average_of(match.source))
        if average_of(match.source) in stored.shapes
        else match
        for match in matches
    ]
    if changed == list(matches):
        raise lacking(stored.prefix)
    return changed


def _place(plan: Plan, stored: Stored, entry: Entry, optional: bool) -> None:
    source = _source(stored, entry.name)
    why = _misfit(stored, entry, source) if source is not None else None
    if source is not None and why is None:
        plan.matches.append(Match(entry, source))
    elif optional:
        plan.initialized.append(entry)
    elif source is None:
        if entry.name not in plan.missing:
            plan.missing.append(entry.name)
    else:
        plan.unfit[entry.name] = str(why)


def _source(stored: Stored, name: str) -> str | None:
    """A variable's name in the file. MoXing kept the step in a scope, as in `Adam/global_step`."""
    if name in stored.shapes or not _is_step(name):
        return name if name in stored.shapes else None
    steps = [other for other in stored.shapes if _is_step(other)]
    return steps[0] if len(steps) == 1 else None


def _is_step(name: str) -> bool:
    return name.rsplit("/", 1)[-1] == _STEP


def _misfit(stored: Stored, entry: Entry, source: str) -> str | None:
    shape, dtype = list(stored.shapes[source]), stored.dtypes[source]
    if entry.shape is not None and list(entry.shape) != shape:
        return (
            f"Variable {entry.name!r} has shape {list(entry.shape)} in the graph but {shape} in"
            f" {stored.prefix}."
        )
    if not _castable(dtype, entry.dtype):
        return (
            f"Variable {entry.name!r} has dtype {entry.dtype.name} in the graph but {dtype.name} in"
            f" {stored.prefix}."
        )
    return None


def _castable(source: tf.DType, target: tf.DType) -> bool:
    if source in _FLOATS and target in _FLOATS:
        return True
    return source == target or (source, target) == (tf.int32, tf.int64)


def _check_warm(stored: Stored, plan: Plan, wanted: Filter, needed: Sequence[str]) -> None:
    if not plan.matches and not plan.unfit:
        raise CheckpointError(_nothing_matches(stored, wanted, needed))
    bad = [*plan.unfit, *plan.missing]
    if not bad:
        return
    found = {match.entry.name for match in plan.matches}
    good = [name for name in needed if name in found]
    if not good and not plan.unfit:
        raise CheckpointError(_nothing_matches(stored, wanted, needed))
    lines = _complaints(stored, plan)
    line = wanted.line_excluding(bad, good)
    lines.append(f"To initialize what can't be restored, run with {line}")
    raise CheckpointError("\n".join(lines))


def _complaints(stored: Stored, plan: Plan) -> list[str]:
    sentences = list(plan.unfit.values())
    lines = sentences[:10]
    if len(sentences) > 10:
        lines.append(f"{len(sentences) - 10} more variables do not fit.")
    if plan.missing:
        count = len(plan.missing)
        what = "this variable" if count == 1 else f"{count} variables"
        lines.append(
            f"{stored.prefix} lacks {what} of the model: {some(plan.missing)}."
            + near_matches(plan.missing[0], stored.shapes)
        )
    return lines


def _changed_model(stored: Stored, plan: Plan, names: Sequence[str]) -> str:
    bad = [*plan.unfit, *plan.missing]
    line = Filter().line_excluding(bad, [name for name in names if name not in bad])
    lines, start = _complaints(stored, plan), option("--checkpoint_path")
    lines.append(
        f"The model, or its optimizer, is not the one that was trained in this {option('log_dir')}."
        f" Go back to that one, or choose a new {option('log_dir')}"
        + (f" and start from these weights with {start}={stored.prefix} {line}" if start else ".")
    )
    return "\n".join(lines)


def _nothing_matches(stored: Stored, wanted: Filter, needed: Sequence[str]) -> str:
    left = [name for name in needed if wanted.wants(name)]
    if needed and not left:
        return (
            f"The checkpoint patterns leave nothing to restore from {stored.prefix}: the model's"
            f" variables are {some(needed)}. Widen checkpoint_include_patterns or narrow"
            " checkpoint_exclude_patterns."
        )
    hint = ""
    if "_CHECKPOINTABLE_OBJECT_GRAPH" in stored.shapes:
        hint = " It was saved by tf.train.Checkpoint, which names variables by Python attributes."
    return (
        f"No variable of the model is in {stored.prefix}.{hint} The model has {some(left)}; the"
        f" file has {some(sorted(stored.shapes))}. Was it saved by another model, or in another"
        " scope?"
    )
