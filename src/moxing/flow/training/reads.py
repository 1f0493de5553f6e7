"""Lists the variables, and this machine's parts of variables, that a train step updates."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.flow.trace import shards, variables
from moxing.flow.trace.context import Trace


@dataclass(frozen=True)
class Read:
    """A tensor that the job read from a variable, or from a part of a variable.

    Attributes:
        name: the name of the variable.
        tensor: the value that was read.
        whole: the variable, or a `shards.Split`.
        part: the number of the part on this machine; None for a whole variable.
        shared: tensors that the parts of a variable make once.
    """

    name: str
    tensor: tf.Tensor
    whole: Any
    part: int | None = None
    shared: dict[str, Any] = field(default_factory=dict)

    @property
    def variable(self) -> tf.Variable:
        """The variable, or the part, to update."""
        return self.whole if self.part is None else self.whole.parts[self.part]

    @property
    def kind(self) -> tf.DType:
        """The data type of the value."""
        return self.tensor.dtype

    def place(self) -> contextlib.AbstractContextManager[Any]:
        """In the block, operations are on the device of the part."""
        if self.part is None:
            return contextlib.nullcontext()
        return tf.device(self.whole.devices[self.part])

    def slot(
        self, trace: Trace, suffix: str, value: float = 0, scalar: bool = False, dtype: Any = None
    ) -> Any:
        """A variable of the optimizer; for a part, the optimizer variable's part beside it."""
        found = variables.slot(trace, f"{self.name}-{suffix}", self.whole, value, scalar, dtype)
        if self.part is None or not isinstance(found, shards.Split):
            return found
        return found.parts[self.part]


def of(trace: Trace) -> list[Read]:
    """Returns the reads of all variables that the job trains."""
    found = []
    for name in (name for name in trace.blobs if trace.trainable[name]):
        blob, whole = trace.blobs[name], trace.variables.by_name[name]
        if isinstance(blob, shards.SplitBlob):
            shared: dict[str, Any] = {}
            found += [Read(name, t, whole, i, shared) for i, t in enumerate(blob.reads)]
        else:
            found.append(Read(name, blob.tensor, whole))
    return found


def lengths(
    read: Read, all_reads: Sequence[Read], gradients: Sequence[tf.Tensor | None]
) -> tuple[tf.Tensor | None, tf.Tensor | None]:
    """For a part: the norms of its whole variable and gradient; else None, None."""
    if read.part is None:
        return None, None
    if "lengths" not in read.shared:
        of_whole = [i for i, other in enumerate(all_reads) if other.name == read.name]
        tensors = [all_reads[i].tensor for i in of_whole]
        slopes = [g for g in (gradients[i] for i in of_whole) if g is not None]
        with tf.device(read.whole.devices[0]):
            read.shared["lengths"] = (
                shards.norm(tensors, read.whole),
                shards.norm(slopes, read.whole),
            )
    return read.shared["lengths"]
