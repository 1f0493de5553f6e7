"""The names that variables of unnamed layers have in checkpoints.

The original counts all operations without a name in a process with one counter, so that its first
unnamed convolution may be `Conv2D_0` or `Conv2D_3`; here layers of a kind are counted within a job,
so that jobs share them. Checkpoints have the original's names, and a file that tells which variable
each is. Checkpoints without this file are the original's, or are of a version of this product that
wrote its own names. Where they number the layers differently, the order of the layers is the same:
the n-th of a kind in the jobs is the n-th in the checkpoint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping

from moxing.errors import CheckpointError

FILE = ".names.json"

_KINDS = {
    **{"Conv2D": "Conv2D", "conv2d": "Conv2D", "Dense": "Dense", "dense": "Dense"},
    **{"LayerNorm": "LayerNorm", "layer_norm": "LayerNorm"},
    **{"BatchNorm": "BatchNorm", "batch_normalization": "BatchNorm"},
    **{"PRelu": "PRelu", "prelu": "PRelu"},
}
_LAYER = re.compile(
    rf"(?P<scope>(?:.*-)?)(?P<kind>{'|'.join(_KINDS)})_(?P<number>\d+)-(?P<rest>.+)"
)


def written(names: Iterable[str], originals: Callable[[str], list[str]]) -> dict[str, list[str]]:
    """Returns the names under which a checkpoint has each variable.

    Args:
        names: the names of the session's variables.
        originals: returns the original's names for one of them.
    """
    every = list(names)
    found = {name: [name] for name in every if originals(name) == [name]}
    taken = set(found)
    for name in every:
        if name in found:
            continue
        # A program's own name may look like the name of an unnamed layer.
        given = [other for other in originals(name) if other not in taken]
        found[name] = given or [f"{name}-unnamed"]
        taken.update(found[name])
    return found


def encoded(names: Mapping[str, list[str]]) -> bytes | None:
    """The content of the file; None if each variable has the session's name and no other."""
    if all(there == [name] for name, there in names.items()):
        return None
    layers = {name: there[0] for name, there in names.items() if _LAYER.fullmatch(name)}
    return (json.dumps(layers, indent=1) + "\n").encode()


def aliases(
    wanted: Iterable[str],
    listed: Callable[[], Iterable[str]],
    originals: Callable[[str], list[str]],
    read: Callable[[str], bytes | None],
    ours: str,
    named: str,
) -> Mapping[str, str]:
    """Returns a checkpoint's names for variables of unnamed layers that it has by other names.

    Args:
        wanted: names of the session's variables.
        listed: lists the names in the checkpoint; called only if there are unnamed layers.
        originals: returns the original's names for a variable.
        read: reads a file in the checkpoint's folder; None if there is none.
        ours: a file that this product writes into every checkpoint, and the original does not.
        named: the user's name for the checkpoint.

    Returns:
        The checkpoint's names by the session's names.

    Raises:
        CheckpointError: the file of names can't be read.
    """
    names = [name for name in wanted if _LAYER.fullmatch(name)]
    there = set(listed()) if names else set()
    if not there:
        return {}
    if noted := _noted(read(FILE), named):
        # A layer that the checkpoint does not know may have the name of another layer there.
        return {name: noted.get(name, f"{name}-missing") for name in names}
    if all(name in there for name in names) and read(ours) is not None:
        return {}
    given = {name: originals(name)[0] for name in names}
    return given if there.issuperset(given.values()) else _by_order(names, there)


def _noted(content: bytes | None, named: str) -> dict[str, str]:
    if content is None:
        return {}
    try:
        return {str(name): str(other) for name, other in json.loads(content).items()}
    except (ValueError, AttributeError, RecursionError) as error:
        raise CheckpointError(
            f"checkpoint {named}: its {FILE} can't be read ({error!r}). Delete the file,"
            " and unnamed layers are found by their order."
        ) from None


def _by_order(names: Iterable[str], there: set[str]) -> dict[str, str]:
    """The n-th layer of a kind in the checkpoint for the n-th of the jobs."""
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
