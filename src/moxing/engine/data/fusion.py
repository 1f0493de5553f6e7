"""Lets a reader apply a change, such as a crop, to a tensor while it makes the tensor.

A reader offers one of its tensors: the reader can also yield elements in which that tensor is
already changed. For a crop, it then decodes only the cropped part of an image. A change notes
which tensor it changes. `lift` matches offers and changes where nothing else reads the tensor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from moxing.engine.graph import ancestry, run_context


class Batch(NamedTuple):
    """The number of elements in a batch, and whether to drop a last batch that has fewer."""

    size: int
    full: bool


# Takes a change, and a Batch or None. Returns a dataset like the reader's whose elements have the
# changed tensor in place of the offered one; None if the reader can't make such batches.
Rebuild = Callable[[Any, Batch | None], Any]


@dataclass(frozen=True)
class Fusion:
    """A change that a reader can make itself.

    Attributes:
        offered: the reader's tensor.
        result: the changed tensor.
        rebuild: makes, in the current graph, the dataset of changed elements or of their batches.
    """

    offered: tf.Tensor
    result: tf.Tensor
    rebuild: Callable[[Batch | None], Any]


def offer(tensor: tf.Tensor, rebuild: Rebuild) -> None:
    """Declares that the reader whose iterator yields `tensor` can take over a change of it."""
    run_context.current().fusion_offers.append((tensor, rebuild))


def note(tensor: tf.Tensor, change: Any, result: tf.Tensor) -> None:
    """Declares that `result` is `change` applied to `tensor`, and depends on no other tensor."""
    context = run_context.current()
    if any(tensor is offered for offered, _ in context.fusion_offers):
        context.fusion_changes.append((tensor, change, result))


def find(tensors: Sequence[tf.Tensor]) -> list[Fusion]:
    """The changes behind `tensors` that readers can make, each the only use of its tensor."""
    context = run_context.current()
    return [
        Fusion(offered, result, functools.partial(rebuild, change))
        for offered, rebuild in context.fusion_offers
        for changed, change, result in context.fusion_changes
        if changed is offered and _is_only_use(tensors, offered, result)
    ]


def _is_only_use(tensors: Sequence[tf.Tensor], offered: tf.Tensor, result: tf.Tensor) -> bool:
    """Whether `tensors` need `result`, and need `offered` only to compute it."""
    names = {op.name for op in ancestry.behind(tensors)}
    if result.op.name not in names:
        return False
    if any(tensor is offered for tensor in tensors):
        return False
    return not any(
        op is result.op or any(tensor is offered for tensor in op.inputs)
        for op in ancestry.behind(tensors, fed=[result])
    )
