"""Says in which variables two checkpoints differ, and by how much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from moxing.runs.checkpoints.source import Values


@dataclass(frozen=True)
class Change:
    """A variable of both checkpoints whose values differ.

    Attributes:
        name: the variable's name.
        shapes: the variable's two shapes as text; a single shape if they are equal.
        norm: the Euclidean norm of the difference; None if the shapes differ or the values are
            text.
        relative: that norm, divided by the norm of the first values; infinite where they are 0.
        largest: the largest difference of an element.
        not_finite: how many elements of the second values are NaN or infinite.
    """

    name: str
    shapes: str
    norm: float | None = None
    relative: float | None = None
    largest: float | None = None
    not_finite: int = 0


@dataclass(frozen=True)
class Difference:
    """The difference between two checkpoints.

    Attributes:
        only_first: names of variables that only the first checkpoint has.
        only_second: names of variables that only the second checkpoint has.
        changed: the variables of both checkpoints that differ, the largest relative change first.
        equal: how many variables are equal, bit for bit.
    """

    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    changed: tuple[Change, ...]
    equal: int


def compare(first: Values, second: Values) -> Difference:
    """Returns the difference between two checkpoints, variable by variable."""
    both = [name for name in first.arrays if name in second.arrays]
    found = [_change(name, first.arrays[name], second.arrays[name]) for name in both]
    changed = [change for change in found if change is not None]
    changed.sort(key=lambda change: (-_rank(change), change.name))
    return Difference(
        tuple(name for name in first.arrays if name not in second.arrays),
        tuple(name for name in second.arrays if name not in first.arrays),
        tuple(changed),
        len(both) - len(changed),
    )


def lines(difference: Difference, most: int = 0) -> Iterator[str]:
    """Returns the difference as lines of text.

    Args:
        difference: the difference.
        most: how many variables to list of each kind; 0: all.
    """
    limit = most or None
    shown = difference.changed[:limit]
    width = max((len(change.name) for change in shown), default=0)
    for change in shown:
        yield f"  {change.name.ljust(width)}  {change.shapes}  {_words(change)}".rstrip()
    for which, names in (("first", difference.only_first), ("second", difference.only_second)):
        for name in names[:limit]:
            yield f"  {name}: only in the {which} checkpoint"
    listed = len(shown) + len(difference.only_first[:limit]) + len(difference.only_second[:limit])
    total = len(difference.changed) + len(difference.only_first) + len(difference.only_second)
    if total > listed:
        yield f"  ... and {total - listed} more"
    yield (
        f"{len(difference.changed)} variables differ, {difference.equal} are equal,"
        f" {len(difference.only_first)} are only in the first checkpoint,"
        f" {len(difference.only_second)} only in the second."
    )


def _change(name: str, first: np.ndarray, second: np.ndarray) -> Change | None:
    if first.shape != second.shape or first.dtype != second.dtype:
        return Change(name, f"{_shape(first)} -> {_shape(second)}")
    if first.tobytes() == second.tobytes() if first.dtype.kind != "O" else (first == second).all():
        return None
    if first.dtype.kind in "OSU":
        return Change(name, _shape(first))
    wide = np.complex128 if first.dtype.kind == "c" else np.float64
    before, after = first.astype(wide), second.astype(wide)
    with np.errstate(all="ignore"):
        delta = np.abs(after - before)
        norm, size = float(np.linalg.norm(delta)), float(np.linalg.norm(before))
    relative = norm / size if size else float("inf")
    bad = int(delta.size - np.isfinite(after).sum())
    return Change(name, _shape(first), norm, relative, float(delta.max()), bad)


def _rank(change: Change) -> float:
    if change.relative is None or change.not_finite:
        return float("inf")
    return change.relative


def _words(change: Change) -> str:
    if change.norm is None:
        return ""
    bad = f", {change.not_finite} elements are not finite" if change.not_finite else ""
    from_zero = change.relative is None or change.relative == float("inf")
    share = "the first is 0" if from_zero else f"{change.relative:.2%} of the first"
    return f"norm of the change {change.norm:.4g} ({share}), largest {change.largest:.4g}{bad}"


def _shape(array: np.ndarray) -> str:
    kind = "string" if array.dtype.kind in "OSU" else str(array.dtype)
    return f"{kind} {list(array.shape)}"
