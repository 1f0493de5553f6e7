"""Finds the variables of unnamed layers in checkpoints that number these layers differently.

The original counts all operations of a process with one counter, so that its first unnamed
convolution may be `Conv2D_0` or `Conv2D_3`; here layers of a kind are counted within a job. The
order of the layers is the same, so the n-th of a kind in the jobs is the n-th in the checkpoint.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

_KINDS = {
    **{"Conv2D": "Conv2D", "conv2d": "Conv2D", "Dense": "Dense", "dense": "Dense"},
    **{"LayerNorm": "LayerNorm", "layer_norm": "LayerNorm"},
    **{"BatchNorm": "BatchNorm", "batch_normalization": "BatchNorm"},
    **{"PRelu": "PRelu", "prelu": "PRelu"},
}
_LAYER = re.compile(
    rf"(?P<scope>(?:.*-)?)(?P<kind>{'|'.join(_KINDS)})_(?P<number>\d+)-(?P<rest>.+)"
)


def aliases(wanted: Iterable[str], listed: Callable[[], Iterable[str]]) -> Mapping[str, str]:
    """Returns a checkpoint's names for variables of unnamed layers that it lacks.

    Args:
        wanted: names of the session's variables.
        listed: lists the names in the checkpoint; called only if there are unnamed layers.

    Returns:
        The checkpoint's names by the session's names; empty if the checkpoint has all of these.
    """
    names = [name for name in wanted if _LAYER.fullmatch(name)]
    there = set(listed()) if names else set()
    if all(name in there for name in names):
        return {}
    ours, theirs = _numbers(names), _numbers(there)
    found = {}
    for name in names:
        match = _LAYER.fullmatch(name)
        assert match is not None
        kind = _KINDS[match["kind"]]
        place = ours[kind].index(int(match["number"]))
        if place >= len(theirs.get(kind, [])):
            continue
        for spelled in (word for word, meant in _KINDS.items() if meant == kind):
            other = f"{match['scope']}{spelled}_{theirs[kind][place]}-{match['rest']}"
            if other in there:
                found[name] = other
    return found


def _numbers(names: Iterable[str]) -> dict[str, list[int]]:
    """The numbers of the unnamed layers of each kind, ascending."""
    found: dict[str, set[int]] = {}
    for name in names:
        if match := _LAYER.fullmatch(name):
            found.setdefault(_KINDS[match["kind"]], set()).add(int(match["number"]))
    return {kind: sorted(numbers) for kind, numbers in found.items()}
