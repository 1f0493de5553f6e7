"""Names of variables in checkpoints: Keras' own, without numbers that depend on the process.

Keras numbers the layers of a process: the second model's first Dense layer is `dense_3`. A resumed
run has to find its variables by the same names wherever the model was built, so each model's layers
are numbered anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_SEEDS = "seed_generator"


def renumbered(named: Iterable[Any], paths: Iterable[str] = ()) -> dict[str, str]:
    """For each automatic name, the one in a process that has made no other model.

    Args:
        named: the model, its layers in order, and the optimizer.
        paths: of weights, for the names of seed generators, which are no layers.
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
    """The name of a weight, of its path such as `dense_3/kernel` or `dense_3/kernel:0`."""
    parts = path.split(":")[0].split("/")
    return "/".join(layers.get(part, part) for part in parts)


def of_slot(path: str, weights: dict[str, str], layers: dict[str, str]) -> str:
    """The name of an optimizer's variable, which holds the path of a weight.

    Args:
        path: such as `adam/dense_3_kernel_momentum` or `Adam/m/dense_3/kernel:0`.
        weights: names by path, of all weights.
        layers: names by automatic name.
    """
    path = of_weight(path, layers)
    for old in sorted(weights, key=len, reverse=True):
        flat = old.split(":")[0].replace("/", "_")
        if flat in path:
            return path.replace(flat, weights[old].replace("/", "_"), 1)
    return path


def unique(names: Iterable[str]) -> list[str]:
    """The names with `_1`, `_2`, ... behind those that were there before."""
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
    """As Keras names layers after their class."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()
