"""No modules of the project import each other in a circle, late imports included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import moxing

SOURCE = Path(moxing.__file__).parents[1]


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted((SOURCE / "moxing").rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imported(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The project's modules that a module imports: at its top, in functions, and for types."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                target = inside if inside in known else node.module
                if target in known and target != name:
                    yield target


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that reach each other: strongly connected components (Tarjan, 1972)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in graph:
        if name not in order:
            visit(name)
    return found


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": set(), "f": {"a"}}
    assert circles(graph) == [["a", "b", "c"]]


def test_there_is_no_circle_of_modules() -> None:
    known = modules()
    graph = {name: set(imported(name, path, known)) for name, path in known.items()}
    for room in ("engine", "cluster", "flow", "estimator", "legacy", "framework"):
        inside = [name for name in graph if name.startswith(f"moxing.{room}.")]
        assert len(inside) > 10, room
        assert any(graph[name] for name in inside), room
    assert circles(graph) == []


def test_no_folder_and_no_file_is_too_large_to_find_anything_in() -> None:
    folders: dict[Path, int] = {}
    for path in modules().values():
        folders[path.parent] = folders.get(path.parent, 0) + 1
        assert len(path.read_text().splitlines()) <= 600, path
    crowded = {str(folder): count for folder, count in folders.items() if count > 20}
    assert crowded == {}
