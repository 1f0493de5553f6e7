"""Finds the file of `mox run -m package.module`, before the program imports anything."""

from __future__ import annotations

import importlib.machinery
import os
import sys
from collections.abc import Sequence

from moxing.errors import MoxValueError, near_matches

Spec = importlib.machinery.ModuleSpec


def find(name: str) -> Spec:
    """Finds the module to run, first in the current folder, like `python -m`.

    Args:
        name: the dotted name of the module; a package stands for its `__main__`.

    Returns:
        The spec of the module, whose `origin` is its file. Its packages are not imported.

    Raises:
        MoxValueError: there is no such module, or it is not a Python file.
    """
    if not name:
        raise MoxValueError("the name of the module is empty: mox run -m PACKAGE.MODULE [flags]")
    if name.endswith(".py") or os.sep in name:
        dotted = name.removesuffix(".py").strip("./").replace(os.sep, ".")
        raise MoxValueError(
            f"-m takes the name of a module, not a file: mox run -m {dotted}, or mox run {name}."
        )
    spec = _search(name)
    if spec.submodule_search_locations is not None:
        try:
            spec = _search(f"{name}.__main__")
        except MoxValueError:
            raise MoxValueError(
                f"{name} is a package without a file __main__.py: name one of its modules,"
                f" mox run -m {name}.MODULE."
            ) from None
    if not spec.origin or not spec.origin.endswith(".py"):
        raise MoxValueError(f"{name} is not a Python file ({spec.origin or 'no file'}).")
    return spec


def _search(name: str) -> Spec:
    here = os.getcwd()
    entries = [here, *(entry for entry in sys.path if entry not in ("", here))]
    places: Sequence[str] | None = None
    parts = name.split(".")
    for count, part in enumerate(parts):
        whole = ".".join(parts[: count + 1])
        found = _ask(whole, places, entries)
        if found is None:
            among = list(places) if places is not None else [here]
            near = near_matches(part, _names(among))
            raise MoxValueError(
                f"there is no module {whole} in {', '.join(among)}"
                + (", nor on PYTHONPATH." if count == 0 else ".")
                + near
            )
        spec = found
        if count < len(parts) - 1:
            if spec.submodule_search_locations is None:
                raise MoxValueError(f"{whole} ({spec.origin}) is a module, not a package.")
            # The path object of a nested namespace package would import its parent.
            found_in = spec.submodule_search_locations
            places = list(getattr(found_in, "_path", found_in))
    return spec


def _ask(name: str, places: Sequence[str] | None, entries: Sequence[str]) -> Spec | None:
    """Queries the finders like an import statement, with `entries` in place of `sys.path`."""
    for finder in sys.meta_path:
        path = places
        if places is None and finder is importlib.machinery.PathFinder:
            path = entries
        find_spec = getattr(finder, "find_spec", None)
        try:
            spec = find_spec(name, path) if find_spec is not None else None
        except KeyError:
            # For a namespace in a namespace, Python looks up the outer module.
            spec = Spec(name, None, is_package=True)
            leaf = name.rpartition(".")[2]
            spec.submodule_search_locations = [os.path.join(place, leaf) for place in path or ()]
        if spec is not None:
            return spec
    return None


def _names(folders: Sequence[str]) -> list[str]:
    found: list[str] = []
    for folder in folders:
        if os.path.isdir(folder):
            found += [entry.removesuffix(".py") for entry in os.listdir(folder)]
    return found
