"""No circle of modules in the engine and below it; imports inside functions count too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import moxing

PACKAGE = Path(moxing.__file__).parent


def modules(room: str) -> dict[str, Path]:
    """The modules of a room, by name."""
    found = {}
    for path in (PACKAGE / room).rglob("*.py"):
        parts = ("moxing", *path.relative_to(PACKAGE).with_suffix("").parts)
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


def imported(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules of a room that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in known else node.module for name in inside]
        yield from (name for name in names if name in known)


def circle(graph: dict[str, set[str]]) -> list[str]:
    """The modules of a circle; empty: there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("room", ["engine", "cluster"])
def test_no_circle_of_modules(room: str) -> None:
    known = modules(room)
    assert len(known) > 10
    graph = {name: {*imported(path, known)} - {name} for name, path in known.items()}
    assert any(graph.values())
    assert circle(graph) == []


def test_a_circle_is_found() -> None:
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == {"a", "b", "c"}
