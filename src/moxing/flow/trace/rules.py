"""Rules that tell when an operation treats samples alike, so that every device can do its part.

A rule gets the arguments of a call, at least one of which is a blob in parts along axis 0. It
returns None if the operation mixes samples, or if axis 0 of the result would not be the axis of
samples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from moxing.flow.trace import parallel, scopes
from moxing.flow.trace.blobs import Blob
from moxing.flow.trace.parallel import Plan, Rule

_Arguments = Mapping[str, Any]


def always(arguments: _Arguments, count: int) -> Plan:
    """Each element, or each sample, by itself."""
    del arguments, count
    return {}


def _rank(blob: Blob) -> int:
    return len(blob.static_shape)


def _axes(value: Any, rank: int) -> list[int]:
    items = value if isinstance(value, list | tuple) else [value]
    return [int(item) % rank for item in items]


def only(name: str) -> Rule:
    """One argument is in parts; others, such as filters, are whole."""

    def rule(arguments: _Arguments, count: int) -> Plan:
        others = [v for key, v in arguments.items() if key != name and isinstance(v, Blob)]
        return {} if arguments[name].parts and not any(blob.parts for blob in others) else None

    return rule


def along(name: str, axis: str, default: int = -1, inserted: bool = False) -> Rule:
    """The operation works along an axis, or several, that are not axis 0.

    Args:
        name: the blob's argument.
        axis: the argument of the axis.
        default: the axis that None stands for.
        inserted: whether the axis is an axis of the result, which has one axis more.
    """

    def rule(arguments: _Arguments, count: int) -> Plan:
        rank = _rank(arguments[name]) + inserted
        chosen = default if arguments[axis] is None else arguments[axis]
        return None if 0 in _axes(chosen, rank) else {}

    return rule


def given(name: str, axis: str) -> Rule:
    """As `along`; without an axis, the operation works along all axes."""

    def rule(arguments: _Arguments, count: int) -> Plan:
        if arguments[axis] is None:
            return None
        return None if 0 in _axes(arguments[axis], _rank(arguments[name])) else {}

    return rule


def aligned(*names: str) -> Rule:
    """Elements of several blobs, broadcast as numpy does; all in parts have one rank and batch."""

    def rule(arguments: _Arguments, count: int) -> Plan:
        blobs = {name: arguments[name] for name in names if isinstance(arguments[name], Blob)}
        kinds = {(_rank(b), b.rows) for b in blobs.values() if b.parts}
        if len(kinds) != 1:
            return None
        ((rank, rows),) = kinds
        batch = sum(rows)
        plain = [np.shape(arguments[name]) for name in names if name not in blobs]
        if any(len(shape) >= rank and shape[0] != 1 for shape in plain):
            return None  # A user's array belongs to the whole batch.
        plan = {}
        for name, blob in blobs.items():
            if blob.parts or _rank(blob) < rank:
                continue
            first = blob.static_shape[0]
            if _rank(blob) > rank or first not in (1, batch) or blob.is_dynamic:
                return None
            if first == batch:
                plan[name] = parallel.split(blob.tensor, count, rows)
        return plan

    return rule


def leading(*names: str) -> Rule:
    """Axis 0 of all these blobs is the axis of samples; the ranks may differ."""

    def rule(arguments: _Arguments, count: int) -> Plan:
        blobs = {name: arguments[name] for name in names}
        if not all(isinstance(blob, Blob) and _rank(blob) for blob in blobs.values()):
            return None
        if any(blob.is_dynamic for blob in blobs.values()):
            return None
        parted = {blob.rows for blob in blobs.values() if blob.parts}
        if len(parted) != 1 or len({blob.static_shape[0] for blob in blobs.values()}) != 1:
            return None
        (rows,) = parted
        whole = {name: blob for name, blob in blobs.items() if not blob.parts}
        return {name: parallel.split(blob.tensor, count, rows) for name, blob in whole.items()}

    return rule


def repeated(arguments: _Arguments, count: int) -> Plan:
    """As `leading("x", "like")`; an `x` that lacks axis 0 is whole on each device."""
    x, like = arguments["x"], arguments["like"]
    if not (isinstance(x, Blob) and isinstance(like, Blob)):
        return None
    if _rank(x) < _rank(like) and 0 in _axes(arguments["axes"], _rank(like)):
        return None if x.parts else {}
    return leading("x", "like")(arguments, count)


def listed(name: str, axis: str | None = None, inserted: bool = False) -> Rule:
    """A list of blobs that are all in parts, of one rank and batch, joined along another axis."""

    def rule(arguments: _Arguments, count: int) -> Plan:
        blobs: Sequence[Any] = arguments[name]
        if not all(isinstance(blob, Blob) and blob.parts for blob in blobs):
            return None
        if len({(_rank(blob), blob.rows) for blob in blobs}) != 1:
            return None
        if axis is not None and 0 in _axes(arguments[axis], _rank(blobs[0]) + inserted):
            return None
        return {}

    return rule


def matmul(arguments: _Arguments, count: int) -> Plan:
    """Rows of `a` by the whole of `b`, or pairs of matrices along axis 0."""
    a, b = arguments["a"], arguments["b"]
    if not (isinstance(a, Blob) and isinstance(b, Blob) and a.parts):
        return None
    if b.parts:
        alike = _rank(a) == _rank(b) > 2 and a.rows == b.rows
        return {} if alike else None
    if _rank(a) == 2:
        return {} if _rank(b) == 2 and not arguments["transpose_a"] else None
    return {} if _rank(b) < _rank(a) else None


def gather(arguments: _Arguments, count: int) -> Plan:
    """Each sample's indices into the whole of `params`, or into its own sample."""
    params, indices = arguments["params"], arguments["indices"]
    if not (isinstance(params, Blob) and isinstance(indices, Blob) and indices.parts):
        return None
    if not params.parts:
        return {} if arguments["axis"] in (None, 0) and not arguments["batch_dims"] else None
    same = params.rows == indices.rows
    return {} if same and arguments["batch_dims"] > 0 and _rank(indices) > 1 else None


def transpose(arguments: _Arguments, count: int) -> Plan:
    """Axis 0 stays."""
    return {} if list(arguments["perm"] or ())[:1] == [0] else None


def reshape(arguments: _Arguments, count: int) -> Plan:
    """Elements are in the order of axis 0, so each part is reshaped to its part of the result."""
    old, new = arguments["x"].static_shape, [int(size) for size in arguments["shape"]]
    total, known = math.prod(old), math.prod(size for size in new if size != -1)
    parts = arguments["x"].parts
    if not new or new.count(-1) > 1 or not known or total % known:
        return None
    full = [total // known if size == -1 else size for size in new]
    if math.prod(full) != total:
        return None
    # The elements of a part of the result must be those of the part of the blob.
    if any(full[0] * size % old[0] for size in arguments["x"].rows):
        return None
    return {"shape": [[full[0] * part.static_shape[0] // old[0], *full[1:]] for part in parts]}


def boxed(arguments: _Arguments, count: int) -> Plan:
    """Axis 0 stays whole."""
    first = (*arguments["begin"][:1], *arguments["size"][:1])
    return {} if first in ((None, None), (None, -1), (0, -1)) else None


def sliced(arguments: _Arguments, count: int) -> Plan:
    """Axis 0 stays whole."""
    first = [*arguments["slice_tup_list"], (None, None, None)][0]
    return {} if tuple(first) in ((None, None, None), (None, None, 1)) else None


def squeeze(arguments: _Arguments, count: int) -> Plan:
    """The axes must be named, without axis 0: a part may have one sample and the whole more."""
    return given("input", "axis")(arguments, count)


def pad(arguments: _Arguments, count: int) -> Plan:
    """Axis 0 gets no padding."""
    return {} if tuple(arguments["paddings"][0]) == (0, 0) else None


def dropout(arguments: _Arguments, count: int) -> Plan:
    """Each device draws for itself."""
    if arguments["noise_shape"] is not None:
        return None
    seed = arguments["seed"]
    # With one seed all devices would drop the same elements of their parts.
    own = [scopes.first() + index for index in range(len(scopes.active()))]
    return {} if seed is None else {"seed": [seed + index for index in own]}


def layer_norm(arguments: _Arguments, count: int) -> Plan:
    """Each sample by itself."""
    rank = _rank(arguments["inputs"])
    begins = (arguments["begin_norm_axis"] % rank, arguments["begin_params_axis"] % rank)
    return {} if min(begins) > 0 else None


def top_k(arguments: _Arguments, count: int) -> Plan:
    """Along the last axis, unless it is the only axis."""
    return {} if _rank(arguments["input"]) > 1 else None
