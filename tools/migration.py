"""Lists what programs of TensorFlow 1.x use that openmox does not show them.

    python tools/migration.py FOLDER...   a table of the folders, and sentences on what is missing
    python tools/migration.py --page      writes the tables of docs/migrating.md anew

A folder is a program with its modules, or holds programs. Names are read from the text of its
files, those of Python 2 as they are ported, and looked up where a program would find them.
"""

from __future__ import annotations

import argparse
import ast
import collections
import importlib.util
import os
import re
import sys
import types
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "migrating.md"
PROGRAMS = ROOT / "tests" / "programs" / "tf1"
_SKIPPED = ("__pycache__", "node_modules", "venv", "site-packages")
_CAUGHT = ("ImportError", "ModuleNotFoundError", "AttributeError", "Exception", None)


@dataclass
class Use:
    """What a folder's files use.

    Attributes:
        files: how many Python files there are.
        python2: those of Python 2, and those that neither Python reads.
        names: a dotted name -> the first place that uses it.
        modules: likewise, modules that belong to no face.
        choices: uses in `try` statements that catch what a missing name raises, each with the uses
            of its handlers, which matter only where the first lacks a name.
    """

    files: int = 0
    python2: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    choices: list[tuple[Use, Use]] = field(default_factory=list)


class Names(ast.NodeVisitor):
    """Collects the dotted names that one file reads of modules of interest."""

    def __init__(self, place: str, roots: frozenset[str], use: Use) -> None:
        self._place = place
        self._roots = roots
        self._use = use
        self._bound: dict[str, str] = {}

    def collect(self, tree: ast.Module) -> None:
        """Imports first, wherever they stand: functions are called later."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for item in node.names:
                    self._module(item.name, node.lineno)
                    whole = item.name if item.asname else item.name.partition(".")[0]
                    self._bound[item.asname or whole] = whole
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                self._module(node.module, node.lineno)
                for item in node.names:
                    whole = f"{node.module}.{item.name}"
                    if item.name != "*":
                        self._module(whole, node.lineno)
                        self._bound[item.asname or item.name] = whole
        self.visit(tree)

    def visit_Try(self, node: ast.Try) -> None:
        """What a program does without, if need be, it does not need."""
        kinds = [
            kind
            for handler in node.handlers
            for kind in (
                handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            )
        ]
        if not any(getattr(kind, "id", None) in _CAUGHT for kind in kinds):
            self.generic_visit(node)
            return
        choice = Use(), Use()
        self._visit_apart(node.body, choice[0])
        self._visit_apart([part for handler in node.handlers for part in handler.body], choice[1])
        self._use.choices.append(choice)
        for part in node.orelse + node.finalbody:
            self.visit(part)

    def _visit_apart(self, body: list[ast.stmt], apart: Use) -> None:
        """Puts the uses of statements into `apart`, the imports that were noted before, too."""
        whole, self._use = self._use, apart
        for part in body:
            self.visit(part)
            for node in ast.walk(part):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    self._move(node, whole, apart)
        self._use = whole

    def _move(self, node: ast.Import | ast.ImportFrom, whole: Use, apart: Use) -> None:
        base = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        place = f"{self._place}:{node.lineno}"
        pairs = ((whole.names, apart.names), (whole.modules, apart.modules))
        for item in node.names:
            for table, other in pairs:
                for name in (base + item.name, base.rstrip(".")):
                    if name and table.get(name) == place:
                        other[name] = table.pop(name)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self._path(node)
        if path and path.partition(".")[0] in self._roots:
            if isinstance(node.ctx, ast.Load):
                self._use.names.setdefault(path, f"{self._place}:{node.lineno}")
            return
        self.generic_visit(node)

    def _path(self, node: ast.AST) -> str:
        if isinstance(node, ast.Name):
            return self._bound.get(node.id, "")
        if isinstance(node, ast.Attribute):
            owner = self._path(node.value)
            return f"{owner}.{node.attr}" if owner else ""
        return ""

    def _module(self, name: str, line: int) -> None:
        table = self._use.names if name.partition(".")[0] in self._roots else self._use.modules
        table.setdefault(name, f"{self._place}:{line}")


def read(folder: Path, roots: frozenset[str]) -> Use:
    """What the Python files below a folder use of the modules `roots`."""
    from moxing.errors import MoxError
    from moxing.legacy.python2 import port

    use = Use()
    for path in sorted(folder.rglob("*.py")):
        if any(part in _SKIPPED for part in path.parts):
            continue
        use.files += 1
        place = str(path.relative_to(folder))
        source = path.read_bytes()
        in_package = (path.parent / "__init__.py").exists()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ported = port.port(source, str(path), in_package)
                tree = ast.parse(ported.text if ported else source)
        except (SyntaxError, ValueError, MoxError) as error:
            use.unreadable[place] = str(error).partition("\n")[0]
            continue
        if ported:
            use.python2.append(place)
        Names(place, roots, use).collect(tree)
    return use


class Shown:
    """What programs see: the faces, and what is installed."""

    def __init__(self) -> None:
        os.environ["TF_USE_LEGACY_KERAS"] = "1"
        import tensorflow.compat.v1 as tf

        from moxing.legacy.face import catalog
        from moxing.legacy.program import own_flags

        tf.disable_v2_behavior()
        self._faces = catalog.make_faces(own_flags.take_runtime_flags([], quiet=True))
        self.specs: Mapping[str, Any] = self._faces._roots
        self.roots = frozenset(self.specs) - {"importlib", "oneflow", "keras"}

    def why_missing(self, name: str) -> str:
        """Why a dotted name can't be read, or an empty text."""
        first, *rest = name.split(".")
        try:
            value: Any = self._faces.load(first)
        except ImportError as error:
            return f"not installed: {error}"
        path = first
        for part in rest:
            if not isinstance(value, types.ModuleType | type):
                return ""  # An object's attribute.
            path = f"{path}.{part}"
            try:
                value = getattr(value, part)
            except Exception as error:
                # A library's module that needs an absent package may raise an error of its own.
                if isinstance(value, type):
                    if _only_users_see(value, part):
                        return ""
                    return f"{path}: {error}"
                try:
                    value = self._faces.load(path)
                except Exception:
                    return str(error) or f"{path} is missing."
        return ""


def _only_users_see(owner: type, name: str) -> bool:
    """Whether a class has an attribute of its time for the program's modules alone."""
    from moxing.legacy.libraries import users_only

    return any(isinstance(vars(kind).get(name), users_only.OldAttribute) for kind in owner.__mro__)


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _own_modules(folder: Path) -> set[str]:
    """The names that modules and packages of a folder may be imported by."""
    return {path.stem for path in folder.rglob("*.py")} | {
        path.name for path in folder.rglob("*") if path.is_dir()
    }


def _settle(use: Use, shown: Shown, own: set[str]) -> None:
    """Adds to a use the part that matters of each of its choices."""
    while use.choices:
        first, second = use.choices.pop(0)
        _settle(first, shown, own)
        lacks = any(map(shown.why_missing, first.names)) or not all(
            map(_is_installed, {name.partition(".")[0] for name in first.modules} - own)
        )
        taken = second if lacks else first
        use.choices += taken.choices
        for table, other in ((use.names, taken.names), (use.modules, taken.modules)):
            for name, place in other.items():
                table.setdefault(name, place)


def report(folders: list[Path]) -> int:
    """Prints the table of the folders and what is missing; returns how many names are."""
    shown = Shown()
    rows, missing = [], collections.defaultdict(list)
    reasons: dict[str, str] = {}
    absent: dict[str, list[str]] = collections.defaultdict(list)
    unreadable: list[str] = []
    for folder in folders:
        use = read(folder, shown.roots)
        own = _own_modules(folder)
        _settle(use, shown, own)
        lacking = []
        for name, place in use.names.items():
            reason = shown.why_missing(name)
            if reason.startswith("not installed"):
                absent[name.partition(".")[0]].append(folder.name)
            elif reason:
                # A part of what is missing is missing too.
                if not any(name.startswith(f"{other}.") for other in lacking):
                    lacking.append(name)
                reasons[name] = f"{reason} [{folder.name}/{place}]"
        for module in {name.partition(".")[0] for name in use.modules} - own:
            if not _is_installed(module):
                absent[module].append(folder.name)
        for name in lacking:
            missing[name].append(folder.name)
        unreadable += [f"{folder.name}/{place}: {why}" for place, why in use.unreadable.items()]
        counts = (use.files, len(use.python2), len(use.unreadable), len(use.names), len(lacking))
        rows.append((folder.name, *counts))
    _print_table(("program", "files", "Python 2", "unreadable", "names", "missing"), rows)
    whole = sum(not row[-1] for row in rows)
    print(f"\n{whole} of {len(rows)} use no name that is missing.")
    for name, users in sorted(missing.items(), key=lambda item: (-len(set(item[1])), item[0])):
        print(f"\n{len(set(users))}x {name}\n    {reasons[name]}")
    if unreadable:
        print("\nNeither Python reads:\n    " + "\n    ".join(unreadable))
    if absent:
        print("\nNot installed here:")
        for module, users in sorted(absent.items(), key=lambda item: -len(set(item[1]))):
            print(f"    {len(set(users))}x {module}")
    return len(missing)


def _print_table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    table = [head, *rows]
    widths = [max(len(str(row[place])) for row in table) for place in range(len(head))]
    for row in table:
        first, *numbers = row
        rest = "  ".join(
            str(value).rjust(width) for value, width in zip(numbers, widths[1:], strict=True)
        )
        print(f"{str(first).ljust(widths[0])}  {rest}")


def tables() -> dict[str, str]:
    """The tables of the page by the names of their marks."""
    specs = Shown().specs
    return {
        "programs": _programs(),
        "tensorflow": "\n".join(_rows_of_contrib(specs["tensorflow"])),
        "gone": "\n".join(["| name | what to do |", "|---|---|", *_gone(specs)]),
    }


def _programs() -> str:
    lines = ["| kind of program | reaches |", "|---|---|"]
    for path in sorted(PROGRAMS.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        found = re.match(r'"""(.+?): ([^:]+)\."""', text)
        if found is None:
            raise ValueError(f"{path}: its first line is no `kind: what it reaches`")
        lines.append(f"| {found[1]} (`{path.name}`) | {found[2]} |")
    return "\n".join(lines)


def _rows_of_contrib(spec: Any) -> Iterator[str]:
    yield "| part of `tf.contrib` | names |"
    yield "|---|---|"
    for name, part in sorted(spec.names["contrib"].names.items()):
        if isinstance(part, str) or not getattr(part, "names", None):
            yield f"| `{name}` | {_source(part)} |"
            continue
        shown = sorted(item for item in part.names if not item.startswith("_"))
        yield f"| `{name}` | {_source(part)}{', '.join(f'`{item}`' for item in shown)} |"


def _source(part: Any) -> str:
    roots = (part,) if isinstance(part, str) else getattr(part, "roots", ())
    known = {
        "tf_slim": "tf-slim's",
        "tensorflow": "TensorFlow's own",
        "moxing": "openmox's own",
        "tf_keras": "tf_keras'",
        "face": "as under its other name",
    }
    found = dict.fromkeys(known.get(re.split(r"[.:]", root)[0], root) for root in roots)
    text = "; ".join(found)
    return f"{text}; " if text and not isinstance(part, str) and part.names else text


def _gone(specs: Mapping[str, Any]) -> Iterator[str]:
    seen: set[int] = set()

    def walk(name: str, spec: Any) -> Iterator[str]:
        if id(spec) in seen or not hasattr(spec, "gone"):
            return
        seen.add(id(spec))
        for item, sentence in sorted(spec.gone.items()):
            short = f"{name}.{item}".replace("tensorflow.", "tf.", 1)
            yield f"| `{short}` | {sentence.replace('|', chr(92) + '|')} |"
        for item, part in sorted(spec.names.items()):
            yield from walk(f"{name}.{item}", part)

    for name in sorted(specs):
        if name not in ("absl", "importlib", "oneflow"):
            yield from walk(name, specs[name])


def page() -> str:
    """The page with its tables made anew."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables().items():
        begin, end = f"<!-- table: {name} -->\n", "<!-- end -->"
        first = text.index(begin) + len(begin)
        text = text[:first] + table + "\n" + text[text.index(end, first) :]
    return text


def main() -> int:
    """Reports on folders, or writes the page; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--each", action="store_true", help="a row for each folder in FOLDER")
    parser.add_argument("--page", action="store_true", help="write docs/migrating.md")
    parser.add_argument("--check", action="store_true", help="fail if that page is out of date")
    given = parser.parse_args()
    if given.check:
        return int(page() != PAGE.read_text(encoding="utf-8"))
    if given.page:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if not given.folders:
        parser.error("name the folders of programs, or --page")
    folders = [folder.resolve() for folder in given.folders]
    for folder in folders:
        if not folder.is_dir():
            parser.error(f"there is no folder {folder}")
    if given.each:
        folders = [part for folder in folders for part in sorted(folder.iterdir()) if part.is_dir()]
    return int(report(folders) > 0)


if __name__ == "__main__":
    sys.exit(main())
