"""Lets a reader make at once what a program does in two steps: a tensor, and a change of it.

A reader offers one of its tensors: it can also give elements in which a change has been made of
that tensor, such as a crop, of which it then decodes no more than the crop shows. A change notes
what it was made of. `lift` brings both together where nothing else reads the tensor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from moxing.engine.graph import ancestry, run_context


class Batch(NamedTuple):
    """Elements to put together: how many, and whether to leave out a last batch that has less."""

    size: int
    full: bool


# From a change, and a Batch or None, to a dataset like the reader's whose elements have the changed
# tensor in the place of the offered one; None where there can be no such batches.
Rebuild = Callable[[Any, Batch | None], Any]


@dataclass(frozen=True)
class Fusion:
    """A change that a reader can make itself.

    Attributes:
        offered: the reader's tensor.
        result: what the change made of it.
        rebuild: makes, in the current graph, the dataset of changed elements, or batches of them.
    """

    offered: tf.Tensor
    result: tf.Tensor
    rebuild: Callable[[Batch | None], Any]


def offer(tensor: tf.Tensor, rebuild: Rebuild) -> None:
    """Says that a reader, whose iterator gives `tensor`, can take over a change of it."""
    run_context.current().fusion_offers.append((tensor, rebuild))


def note(tensor: tf.Tensor, change: Any, result: tf.Tensor) -> None:
    """Says that `result` is `change` of `tensor`, and depends on nothing else that has a value."""
    context = run_context.current()
    if any(tensor is offered for offered, _ in context.fusion_offers):
        context.fusion_changes.append((tensor, change, result))


def find(tensors: Sequence[tf.Tensor]) -> list[Fusion]:
    """The changes on the way to `tensors` that readers can make, each the only use of a tensor."""
    context = run_context.current()
    return [
        Fusion(offered, result, functools.partial(rebuild, change))
        for offered, rebuild in context.fusion_offers
        for changed, change, result in context.fusion_changes
        if changed is offered and _is_only_use(tensors, offered, result)
    ]


def _is_only_use(tensors: Sequence[tf.Tensor], offered: tf.Tensor, result: tf.Tensor) -> bool:
    """Whether `tensors` need `result`, and `offered` for nothing else."""
    names = {op.name for op in ancestry.behind(tensors)}
    if result.op.name not in names:
        return False
    if any(tensor is offered for tensor in tensors):
        return False
    return not any(
        op is result.op or any(tensor is offered for tensor in op.inputs)
        for op in ancestry.behind(tensors, fed=[result])
    )
