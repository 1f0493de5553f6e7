"""Chooses the activations that back-propagation computes again instead of keeping them in memory.

TensorFlow's graph optimizer does the rest: it copies the operations that have a hint into the
back-propagation, right before the gradients that need them. Where a copy begins, tensors are kept.
Keeping about as many tensors as lie between two of them needs the least memory, of the order of the
square root of the depth: Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing.engine.graph import ancestry
from moxing.logs import TENSORFLOW

_HINT = "_recompute_hint"  # An attribute that TensorFlow's memory_optimizer.cc reads.
# The name that `tf.gradients` gives to the operations of back-propagation.
_GRADIENTS = "gradients"
_MOST_PARTS = 64


@dataclass(frozen=True)
class _Activation:
    """An operation between the input and the losses.

    Attributes:
        op: the operation.
        size: bytes of its outputs, with 1 for each dimension that is not known.
        last_use: position of the last operation on the way to the losses that reads an output.
        repeats: whether the operation gives the same outputs when it is run again.
    """

    op: tf.Operation
    size: int
    last_use: int
    repeats: bool


def mark(losses: Sequence[tf.Tensor], sources: Iterable[tf.Operation]) -> None:
    """Marks the operations to compute again; `configure` lets a session follow the marks.

    Args:
        losses: the losses; their gradients may be in the graph already.
        sources: the operations that read the input of the step.
    """
    activations = _activations(losses, sources)
    cuts = _cuts(activations)
    marked = [
        one.op for one, drop in zip(activations, _dropped(activations, cuts), strict=True) if drop
    ]
    for op in marked:
        op._set_attr(_HINT, tf.AttrValue(i=1))
    TENSORFLOW.info(
        "Back-propagation computes %d of %d activations again, in %d parts.",
        len(marked),
        len(activations),
        len(cuts) + 1,
    )


def configure(config: tf.ConfigProto) -> None:
    """Lets the session of a marked graph compute marked operations again."""
    options = config.graph_options.rewrite_options
    options.memory_optimization = options.MANUAL
    options.memory_optimizer_target_node_name_scope = _GRADIENTS
    # Fused operations lose their marks, and would keep their results.
    options.remapping = options.OFF


def _activations(losses: Sequence[tf.Tensor], sources: Iterable[tf.Operation]) -> list[_Activation]:
    """All operations from the input to the losses, in an order in which they can run."""
    of_loss = sorted(ancestry.behind(losses), key=lambda op: op._id)
    reached = {op.name for op in sources}
    way = []
    for op in of_loss:
        if op.name not in reached and any(tensor.op.name in reached for tensor in op.inputs):
            reached.add(op.name)
            way.append(op)
    place = {op.name: number for number, op in enumerate(way)}
    last = list(range(len(way)))
    for number, op in enumerate(way):
        for tensor in op.inputs:
            if tensor.op.name in place:
                last[place[tensor.op.name]] = number
    return [
        _Activation(op, _size(op), use, _repeats(op)) for op, use in zip(way, last, strict=True)
    ]


def _size(op: tf.Operation) -> int:
    known = [tensor.shape.as_list() if tensor.shape.rank else [] for tensor in op.outputs]
    return sum(
        math.prod(length or 1 for length in shape) * tensor.dtype.size
        for tensor, shape in zip(op.outputs, known, strict=True)
        if tensor.dtype.size
    )


def _repeats(op: tf.Operation) -> bool:
    return not (
        op.op_def.is_stateful
        or op._get_control_flow_context() is not None
        or any(tensor.dtype in (tf.resource, tf.variant, tf.string) for tensor in op.outputs)
    )


def _cuts(activations: Sequence[_Activation]) -> list[int]:
    """The positions behind which activations are kept, so that the peak of memory is least."""
    crossing = _crossing(activations)
    before = list(itertools.accumulate(one.size for one in activations))
    tries = [
        _even_cuts(before, crossing, count) for count in range(min(_MOST_PARTS, len(activations)))
    ]
    return min(tries, key=lambda cuts: _peak(activations, cuts), default=[])


def _crossing(activations: Sequence[_Activation]) -> list[int]:
    """For each position, the bytes that operations up to it hand to operations behind it."""
    changes = [0] * (len(activations) + 1)
    for number, one in enumerate(activations):
        changes[number] += one.size
        changes[one.last_use] -= one.size
    return list(itertools.accumulate(changes[:-1]))


def _even_cuts(before: Sequence[int], crossing: Sequence[int], count: int) -> list[int]:
    """Positions about evenly apart in bytes, each chosen so that few bytes have to be kept.

    Args:
        before: for each position the bytes of all activations up to it.
        crossing: see `_crossing`.
        count: the most positions to return.
    """
    width = before[-1] / (count + 1)
    cuts = set()
    for number in range(1, count + 1):
        first = bisect.bisect_left(before, (number - 1 / 3) * width)
        end = bisect.bisect_right(before, (number + 1 / 3) * width)
        cuts.update([min(range(first, end), key=crossing.__getitem__)] if first < end else [])
    return sorted(cuts)


def _dropped(activations: Sequence[_Activation], cuts: Sequence[int]) -> list[bool]:
    """For each activation, whether nothing behind a cut reads it and it can be computed again."""
    ends = [*cuts, len(activations)]
    return [
        one.repeats and one.last_use <= ends[bisect.bisect_left(ends, number)]
        for number, one in enumerate(activations)
    ]


def _peak(activations: Sequence[_Activation], cuts: Sequence[int]) -> int:
    """The bytes of the activations that are kept, and of the largest part computed again."""
    dropped = _dropped(activations, cuts)
    again = [one.size * drop for one, drop in zip(activations, dropped, strict=True)]
    bounds = [0, *(cut + 1 for cut in cuts), len(activations)]
    parts = [sum(again[first:end]) for first, end in itertools.pairwise(bounds)]
    return sum(one.size for one in activations) - sum(again) + max(parts)
