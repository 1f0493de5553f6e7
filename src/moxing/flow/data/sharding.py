"""Shares the parts of a set of files among the readers of all machines."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.flow.data import files
from moxing.flow.data.conf import BlobConf
from moxing.flow.trace import context, scopes
from moxing.flow.trace.blobs import Blob


def own(shares: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """The shares of this machine's devices, in the order of machines and their devices.

    A machine needs the files of its own shares only. In a placement scope of one device the first
    machine of the scope reads, and the others get its batches.

    Raises:
        MoxValueError: a file is missing.
        OSError: the store can't be read.
    """
    exchange = context.exchange()
    if exchange is None:
        return shares
    if not scopes.spread():
        found = shares if scopes.owner() == exchange.index else []
    else:
        found = shares[scopes.first() :][: len(scopes.active())]
    paths = [path for share in found for path in share]
    path = files.missing(paths) if paths else None
    if path is not None:
        raise MoxValueError(f"there is no part {path}, which machine {exchange.index} is to read.")
    return found


def blobs(
    columns: Sequence[Sequence[tf.Tensor]], confs: Sequence[BlobConf], batch: int
) -> tuple[Blob, ...]:
    """Makes blobs from the tensors of this machine's readers.

    Args:
        columns: the tensors of each reader.
        confs: the conf of each tensor.
        batch: the number of samples of a reader.
    """
    exchange = context.exchange()
    if exchange is not None and not scopes.spread():
        read = columns[0] if columns else [tf.zeros([batch, *c.shape], c.dtype) for c in confs]
        return tuple(Blob(exchange.given(tensor, scopes.owner())) for tensor in read)
    if scopes.total() == 1:
        return tuple(Blob(tensor) for tensor in columns[0])
    parted = zip(*columns, strict=True)
    return tuple(Blob(None, parts=[Blob(tensor) for tensor in column]) for column in parted)
