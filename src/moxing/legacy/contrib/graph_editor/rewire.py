"""Changes the inputs of operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from moxing.errors import MoxValueError
from moxing.legacy.contrib.graph_editor.select import make_list_of_op, make_list_of_t


def _consumers(tensor: Any, can_modify: Any, cannot_modify: Any) -> Iterable[Any]:
    allowed = None if can_modify is None else set(make_list_of_op(can_modify))
    barred = set() if cannot_modify is None else set(make_list_of_op(cannot_modify))
    for op in tensor.consumers():
        if (allowed is None or op in allowed) and op not in barred:
            for place, read in enumerate(op.inputs):
                if read is tensor:
                    yield op, place


def _pairs(ts0: Any, ts1: Any) -> list[tuple[Any, Any]]:
    first, second = ([*make_list(ts)] for ts in (ts0, ts1))
    if len(first) != len(second):
        raise MoxValueError(
            f"Both lists must have as many tensors: {len(first)} and {len(second)}."
        )
    return list(zip(first, second, strict=True))


def make_list(ts: Any) -> list[Any]:
    """Returns a list of tensors in order, with duplicates."""
    return [tensor for value in _each(ts) for tensor in make_list_of_t(value)]


def _each(ts: Any) -> Iterable[Any]:
    return [ts] if hasattr(ts, "consumers") else list(ts)


def reroute_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Makes the consumers of each tensor in ts1 read the corresponding tensor in ts0.

    Args:
        ts0: the new tensors.
        ts1: the old tensors, as many as ts0 has.
        can_modify: the only operations to change; None: all.
        cannot_modify: operations that are not changed.

    Returns:
        The number of inputs changed.
    """
    changes = [
        (op, place, new)
        for new, old in _pairs(ts0, ts1)
        for op, place in _consumers(old, can_modify, cannot_modify)
    ]
    for op, place, new in changes:
        op._update_input(place, new)
    return len(changes)


def swap_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Swaps the consumers of corresponding tensors in two lists."""
    changes = []
    for one, other in _pairs(ts0, ts1):
        for op, place in _consumers(one, can_modify, cannot_modify):
            changes.append((op, place, other))
        for op, place in _consumers(other, can_modify, cannot_modify):
            changes.append((op, place, one))
    for op, place, new in changes:
        op._update_input(place, new)
    return len(changes)


def reroute_inputs(sgv0: Any, sgv1: Any) -> tuple[Any, Any]:
    """Makes view sgv1 read the inputs of view sgv0."""
    reroute_ts(sgv0.inputs, sgv1.inputs, can_modify=sgv1.ops)
    return sgv0, sgv1


def reroute_outputs(sgv0: Any, sgv1: Any) -> tuple[Any, Any]:
    """Makes the consumers of view sgv1's outputs read the outputs of view sgv0."""
    reroute_ts(sgv0.outputs, sgv1.outputs, cannot_modify=[*sgv0.ops, *sgv1.ops])
    return sgv0, sgv1


def reroute_ios(sgv0: Any, sgv1: Any) -> tuple[Any, Any]:
    """Calls both `reroute_inputs` and `reroute_outputs`."""
    reroute_inputs(sgv0, sgv1)
    return reroute_outputs(sgv0, sgv1)


def add_control_inputs(op: Any, cops: Any) -> None:
    """Adds control inputs to an operation.

    Raises:
        MoxValueError: an operation is already a control input.
    """
    others = make_list_of_op(cops)
    for other in others:
        if other in op.control_inputs:
            raise MoxValueError(f"{op.name} is already a control_input of {other.name}")
    op._add_control_inputs(others)


def remove_control_inputs(op: Any, cops: Any) -> None:
    """Removes control inputs of an operation.

    Raises:
        MoxValueError: an operation is not a control input.
    """
    others = make_list_of_op(cops)
    for other in others:
        if other not in op.control_inputs:
            raise MoxValueError(f"{other.name} is not a control_input of {op.name}")
    kept = [before for before in op.control_inputs if before not in others]
    op._remove_all_control_inputs()
    op._add_control_inputs(kept)
