"""Finds what shows that a program is written for a TensorFlow that is gone, by its text.

Read are the main program and the modules beside it that it imports. What counts is a name of
TensorFlow 1.x that the installed one lacks, and a file path given to Keras' `load_data`. What the
program itself makes depend on the version, or catches the lack of, does not count.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from moxing.legacy.plain import lost_names

_MOST_FILES = 300
_MOST_BYTES = 1 << 20
_TENSORFLOW = "tensorflow"
_CAUGHT = ("AttributeError", "ImportError", "ModuleNotFoundError")
_VERSIONS = ("__version__", "VERSION", "version", "hasattr")


def sign(script: str) -> str:
    """What shows it, such as `tf.Session (line 3)`, or an empty text."""
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
        text = _Text(os.path.dirname(path))
        text.collect(tree)
        found = next(text.signs(tree), None)
        if found is not None:
            where = "" if len(seen) == 1 else f"{os.path.relpath(path, folder)}, "
            return f"{found[0]} ({where}line {found[1]})"
        todo += _files(text.imported, folder)
    return ""


def _parsed(path: str) -> ast.Module | None:
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            return ast.parse(file.read(_MOST_BYTES))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _files(imported: list[tuple[str, str]], folder: str) -> Iterator[str]:
    """The files of modules that lie beside the program; those of libraries don't.

    Args:
        imported: pairs of a folder, empty for the program's own, and a dotted name in it.
        folder: the program's.
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
    """What is known of one file.

    Attributes:
        folder: where it is.
        names: its names for parts of TensorFlow; None: a name for several things.
        imported: modules that may lie beside it, as pairs for `_files`.
        versions: its names for something that depends on a version.
    """

    folder: str
    names: dict[str, str | None] = field(default_factory=dict)
    imported: list[tuple[str, str]] = field(default_factory=list)
    versions: set[str] = field(default_factory=lambda: set(_VERSIONS))

    def collect(self, tree: ast.Module) -> None:
        """Looks at all imports and assignments."""
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
        if path.partition(".")[0] != _TENSORFLOW:
            path = ""
        if path or name in self.names:
            same = self.names.get(name, path) == path
            self.names[name] = path if same and path else None

    def _path(self, node: ast.AST) -> str | None:
        """The dotted name below `tensorflow` that an expression reads, if it does."""
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

    def signs(self, node: ast.AST) -> Iterator[tuple[str, int]]:
        """What shows the program's age below a node, each with its line."""
        if isinstance(node, ast.If | ast.IfExp) and self._depends(node.test):
            return
        if isinstance(node, ast.Try) and any(_catches(handler) for handler in node.handlers):
            return
        if isinstance(node, ast.Import):
            for item in node.names:
                if _is_lost(item.name):
                    yield item.name, node.lineno
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for item in node.names:
                if _is_lost(f"{node.module}.{item.name}"):
                    yield f"{node.module}.{item.name}", node.lineno
        elif isinstance(node, ast.Attribute) and (path := self._path(node)) and _is_lost(path):
            yield "tf." + path.partition(".")[2], node.lineno
            return
        elif isinstance(node, ast.Call) and self._reads_a_path(node):
            yield "a path in load_data", node.lineno
        for child in ast.iter_child_nodes(node):
            yield from self.signs(child)

    def _reads_a_path(self, call: ast.Call) -> bool:
        """Whether Keras' `load_data` is called with more than the name of a file in its cache."""
        path = self._path(call.func) or ""
        if ".keras.datasets." not in path or not path.endswith(".load_data"):
            return False
        given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "path")]
        return any(
            not isinstance(value, ast.Constant) or "/" in str(value.value) for value in given
        )


def _catches(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(kind, ast.Name) and kind.id in _CAUGHT for kind in kinds)


def _is_lost(path: str) -> bool:
    first, *rest = path.split(".")
    return first == _TENSORFLOW and bool(rest) and lost_names.is_lost(rest)
