"""Names variables in checkpoints: Keras' names, without numbers that depend on the process.

Keras numbers layers per process: the first Dense layer of a second model may be `dense_3`. A
resumed run must find its variables under the same names wherever the model was built, so the layers
of each model are numbered from the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_SEEDS = "seed_generator"


def renumbered(named: Iterable[Any], paths: Iterable[str] = ()) -> dict[str, str]:
    """Returns, for each automatic name, the name it would have in a process with no other model.

    Args:
        named: the model, its layers in order, and the optimizer.
        paths: the paths of weights, which hold the names of seed generators; these are not layers.
    """
    stems = [(_snake(type(one).__name__), getattr(one, "name", "")) for one in named]
    stems += [(_SEEDS, part) for path in paths for part in path.split("/")]
    counts: dict[str, int] = {}
    names: dict[str, str] = {}
    for stem, name in stems:
        if name in names or not re.fullmatch(rf"{stem}(_\d+)?", name):
            continue
        count = counts.get(stem, 0)
        counts[stem] = count + 1
        names[name] = f"{stem}_{count}" if count else stem
    return names


def of_weight(path: str, layers: dict[str, str]) -> str:
    """Returns a weight's name from its path, such as `dense_3/kernel` or `dense_3/kernel:0`."""
    parts = path.split(":")[0].split("/")
    return "/".join(layers.get(part, part) for part in parts)


def of_slot(path: str, weights: dict[str, str], layers: dict[str, str]) -> str:
    """Returns the name of an optimizer's variable, whose path contains the path of a weight.

    Args:
        path: the variable's path, such as `adam/dense_3_kernel_momentum` or
            `Adam/m/dense_3/kernel:0`.
        weights: the names of all weights by path.
        layers: the new names of layers by automatic name.
    """
    path = of_weight(path, layers)
    for old in sorted(weights, key=len, reverse=True):
        flat = old.split(":")[0].replace("/", "_")
        if flat in path:
            return path.replace(flat, weights[old].replace("/", "_"), 1)
    return path


def unique(names: Iterable[str]) -> list[str]:
    """Returns the names; repeated names end with `_1`, `_2`, ..."""
    taken: set[str] = set()
    result = []
    for name in names:
        number, candidate = 0, name
        while candidate in taken:
            number += 1
            candidate = f"{name}_{number}"
        taken.add(candidate)
        result.append(candidate)
    return result


def _snake(name: str) -> str:
    """Converts a class name to snake case, as Keras does to name layers."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()
