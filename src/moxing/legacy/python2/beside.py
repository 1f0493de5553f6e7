"""Tells that a program is Python 2 by the modules beside it, which it can't do without.

A main file that both Pythons read says nothing of the division that it means. Where it imports, at
its top, a module of the program that Python 3 can't even import, it never ran on Python 3. Names
that only Python 2 has, such as `xrange` in a function, say less: the function may never be called.
Two modules of a program with such names are evidence, where no module of it shows Python 3.
"""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterator

from moxing.legacy.python2 import signs, syntax

_MOST = 200  # Files of a program that are read.


def evidence(source: bytes, path: str) -> tuple[str, int] | None:
    """Returns the import of a module of Python 2, with its line; None if there is no such import.

    Args:
        source: the content of a program's main file.
        path: its path.
    """
    tops = [os.path.dirname(os.path.abspath(path)), *_python_path()]
    tree = _tree(source, path)
    found = _search(tree, tops, "", {os.path.abspath(path)})
    return found or (None if tree is None else _by_names(tree, tops, os.path.abspath(path)))


def _python_path() -> list[str]:
    """The folders of the program's modules that PYTHONPATH adds."""
    return [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]


def _by_names(tree: ast.Module, tops: list[str], path: str) -> tuple[str, int] | None:
    """Returns evidence as two imported modules have names of Python 2, and none has Python 3."""
    seen = {path}
    rest = [(tree, "")]
    found: dict[str, int] = {}
    while rest:
        module, package = rest.pop(0)
        if signs.knows_python3(module):
            return None
        for shown, line, file, inside in _imports(module, tops, package):
            if file in seen:
                continue
            seen.add(file)
            source = _content(file)
            imported = _tree(source, file)
            if imported is None or len(seen) > _MOST:
                return None
            if signs.may_be(source) and signs.sign(imported):
                found[shown] = line if module is tree else 1
            rest.append((imported, inside))
    if len(found) < 2:
        return None
    first, second = list(found)[:2]
    return f"{first} and {second}, which it imports, are Python 2", found[first]


def _search(
    tree: ast.Module | None, tops: list[str], package: str, seen: set[str]
) -> tuple[str, int] | None:
    if tree is None:
        return None
    for shown, line, file, inside in _imports(tree, tops, package):
        if file in seen or len(seen) > _MOST:
            continue
        seen.add(file)
        source = _content(file)
        imported = _tree(source, file)
        if imported is None:
            is_old = _is_python2(source)
        else:
            if signs.needs_python3(imported):
                continue
            is_old = signs.imports_python2(imported) or _search(imported, tops, inside, seen)
        if is_old:
            return f"it imports {shown}, which is Python 2", line
    return None


def _imports(
    tree: ast.Module, tops: list[str], package: str
) -> Iterator[tuple[str, int, str, str]]:
    """Yields shown name, line, file and package's folder of modules imported without condition."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            places = [*tops, *([package] if package else [])]
            names = [item.name for item in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            places = [*tops, *([package] if package else [])]
            if node.level:
                if not package:
                    continue
                places = [os.path.normpath(os.path.join(package, *[os.pardir] * (node.level - 1)))]
            names = [base, *(f"{base}.{item.name}".lstrip(".") for item in node.names)]
        else:
            continue
        for name in filter(None, names):
            for place in places:
                for file, inside in _files(place, name.split(".")):
                    yield name, node.lineno, file, inside


def _files(place: str, parts: list[str]) -> Iterator[tuple[str, str]]:
    """Yields the files that an import of a dotted name runs, each with its package's folder."""
    folder, inside = place, ""
    for part in parts:
        module = os.path.join(folder, f"{part}.py")
        folder = os.path.join(folder, part)
        start = os.path.join(folder, "__init__.py")
        if os.path.isfile(start):
            inside = folder
            yield start, inside
        elif os.path.isfile(module):
            yield module, inside
            return


def _content(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError:
        return b""


def _tree(source: bytes, path: str) -> ast.Module | None:
    """The tree of a file; None if Python 3 can't read it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # They appear when the file is compiled.
            return ast.parse(source, path)
    except (SyntaxError, ValueError):
        return None


def _is_python2(source: bytes) -> bool:
    """Whether a file that Python 3 can't read is Python 2."""
    try:
        syntax.to_python3(syntax.decoded(source)[0], "beside.py", False, False)
    except (ValueError, SyntaxError):
        return False
    return True
