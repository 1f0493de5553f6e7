"""Finds, by their text, the library names that a program and the modules beside it use.

A use that depends on a check of a version, or whose failure the program catches, does not count.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

_MOST_FILES = 300
_MOST_BYTES = 1 << 20
_CAUGHT = ("AttributeError", "ImportError", "ModuleNotFoundError")
_VERSIONS = ("__version__", "VERSION", "version", "hasattr")


@dataclass(frozen=True)
class Use:
    """A position in a program that names a part of a library, calls it or reads an attribute.

    Attributes:
        path: the dotted name, such as `tensorflow.train.Saver`; for a method of an unknown object,
            `.fit_generator`; for the definition of a function, `def.call`.
        shown: the name as users write it, `tf.train.Saver`.
        where: `line 3` in the main program, or `model.py, line 3` in another file.
        call: the call, if the use is a call.
    """

    path: str
    shown: str
    where: str
    call: ast.Call | None = None

    def __str__(self) -> str:
        return f"{self.shown} ({self.where})"

    @property
    def is_own(self) -> bool:
        """Whether this position is in the main program, not in a module beside it."""
        return self.where.startswith("line ")


def uses(script: str, roots: tuple[str, ...]) -> Iterator[Use]:
    """Returns the uses of libraries, the main program's first.

    Args:
        script: path of the program.
        roots: names of the libraries.
    """
    main = os.path.realpath(script)
    for path, tree, text in _read(script, roots):
        beside = os.path.relpath(path, os.path.dirname(main))
        file = "" if path == main else f"{beside}, "
        for name, shown, line, call in text.uses(tree):
            yield Use(name, shown, f"{file}line {line}", call)


def trees(script: str) -> Iterator[ast.Module]:
    """Yields the syntax trees of a program's files that Python 3 can parse.

    Args:
        script: path of the program, whose tree comes first.
    """
    yield from (tree for _, tree, _ in _read(script, ()))


def _read(script: str, roots: tuple[str, ...]) -> Iterator[tuple[str, ast.Module, _Text]]:
    """Yields path, syntax tree and facts of each file of a program that Python 3 can parse."""
    folder = os.path.dirname(os.path.realpath(script))
    todo, seen = [os.path.realpath(script)], set[str]()
    while todo and len(seen) < _MOST_FILES:
        path = todo.pop(0)
        if path in seen:
            continue
        seen.add(path)
        tree = _parsed(path)
        if tree is None:
            continue
        text = _Text(os.path.dirname(path), roots)
        text.collect(tree)
        yield path, tree, text
        todo += _files(text.imported, folder)


def _parsed(path: str) -> ast.Module | None:
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            return ast.parse(file.read(_MOST_BYTES))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _files(imported: list[tuple[str, str]], folder: str) -> Iterator[str]:
    """Returns the files of imported modules beside the program, without libraries.

    Args:
        imported: pairs of a folder, empty for the program's, and a dotted name in that folder.
        folder: the program's folder.
    """
    for base, name in imported:
        path = base or folder
        for part in name.split("."):
            path = os.path.join(path, part)
            for file in (f"{path}.py", os.path.join(path, "__init__.py")):
                if os.path.isfile(file):
                    yield os.path.realpath(file)


@dataclass
class _Text:
    """The facts found in one file.

    Attributes:
        folder: the folder of the file.
        roots: the names of the libraries.
        names: the file's names for parts of the libraries; None: a name with several meanings.
        imported: modules that may be beside the file, as pairs for `_files`.
        versions: the file's names for values that depend on a version.
    """

    folder: str
    roots: tuple[str, ...]
    names: dict[str, str | None] = field(default_factory=dict)
    imported: list[tuple[str, str]] = field(default_factory=list)
    versions: set[str] = field(default_factory=lambda: set(_VERSIONS))

    def collect(self, tree: ast.Module) -> None:
        """Collects facts from all imports and assignments."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for item in node.names:
                    self.imported.append(("", item.name))
                    whole = item.name if item.asname else item.name.partition(".")[0]
                    self._bind(item.asname or whole, whole)
            elif isinstance(node, ast.ImportFrom):
                self._collect_from(node)
            elif isinstance(node, ast.Assign):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
                if self._depends(node.value):
                    self.versions.update(names)
                for name in names:
                    self._bind(name, self._path(node.value) or "")

    def _collect_from(self, node: ast.ImportFrom) -> None:
        base, module = "", node.module or ""
        if node.level:
            base = os.path.normpath(os.path.join(self.folder, *[os.pardir] * (node.level - 1)))
        for item in node.names:
            whole = f"{module}.{item.name}" if module else item.name
            self.imported.append((base, whole))
            if not node.level:
                self._bind(item.asname or item.name, whole)

    def _bind(self, name: str, path: str) -> None:
        if path.partition(".")[0] not in self.roots:
            path = ""
        if path or name in self.names:
            same = self.names.get(name, path) == path
            self.names[name] = path if same and path else None

    def _path(self, node: ast.AST) -> str | None:
        """Returns the dotted name in a library that an expression reads, if any."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.Attribute) and (owner := self._path(node.value)):
            return f"{owner}.{node.attr}"
        return None

    def _depends(self, node: ast.AST) -> bool:
        read = {
            part.id if isinstance(part, ast.Name) else part.attr
            for part in ast.walk(node)
            if isinstance(part, ast.Name | ast.Attribute)
        }
        return not read.isdisjoint(self.versions)

    def uses(self, node: ast.AST) -> Iterator[tuple[str, str, int, ast.Call | None]]:
        """Yields path, shown name, line and call of each use below a node."""
        if isinstance(node, ast.If | ast.IfExp) and self._depends(node.test):
            return
        if isinstance(node, ast.Try) and any(_catches(handler) for handler in node.handlers):
            return
        if isinstance(node, ast.Import):
            for item in node.names:
                yield item.name, item.name, node.lineno, None
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for item in node.names:
                whole = f"{node.module}.{item.name}"
                yield whole, whole, node.lineno, None
        elif isinstance(node, ast.Attribute) and (path := self._path(node)):
            yield path, _shown(path), node.lineno, None
        elif isinstance(node, ast.Call):
            path = self._path(node.func) or (
                f".{node.func.attr}" if isinstance(node.func, ast.Attribute) else ""
            )
            if path:
                yield path, f"{_shown(path)}()", node.lineno, node
        elif isinstance(node, ast.FunctionDef):
            yield f"def.{node.name}", f"def {node.name}", node.lineno, None
        for child in ast.iter_child_nodes(node):
            yield from self.uses(child)


def _shown(path: str) -> str:
    return "tf." + path.removeprefix("tensorflow.") if path.startswith("tensorflow.") else path


def _catches(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(kind, ast.Name) and kind.id in _CAUGHT for kind in kinds)
