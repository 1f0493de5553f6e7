"""Converts the syntax and the names of Python 2 to Python 3 by 2to3's fixers."""

from __future__ import annotations

import functools
import importlib
import io
import logging
import os
import re
import tempfile
import tokenize
from pathlib import Path
from typing import Any

from moxing.errors import MoxValueError

# 2to3's fixers, without fixers of style and without `import`, which only packages need.
_FIXERS = [
    "apply",
    "basestring",
    "dict",
    "except",
    "exec",
    "execfile",
    "exitfunc",
    "filter",
    "funcattrs",
    "future",
    "getcwdu",
    "has_key",
    "imports",
    "imports2",
    "input",
    "intern",
    "isinstance",
    "itertools",
    "itertools_imports",
    "long",
    "map",
    "metaclass",
    "methodattrs",
    "ne",
    "next",
    "nonzero",
    "numliterals",
    "operator",
    "paren",
    "raise",
    "raw_input",
    "reduce",
    "reload",
    "renames",
    "repr",
    "standarderror",
    "sys_exc",
    "throw",
    "tuple_params",
    "types",
    "unicode",
    "urllib",
    "xrange",
    "xreadlines",
    "zip",
]
_OWN_FIXERS = {"import": "moxing.legacy.python2.fix_import"}
_TAB = 8
_SET_ENCODING = re.compile(
    r"(^[ \t]*|;[ \t]*)(?:(?:imp\.)?reload\(\s*sys\s*\)|sys\.setdefaultencoding\([^()]*\))", re.M
)
_PLACE = re.compile(r"context=\([^(]*\((\d+), \d+\)")


class NotPython2Error(ValueError):
    """The text is not Python 2 either; `line` is the first line that Python 2 can't read."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}" if line else "somewhere")
        self.line = line


def decoded(source: bytes) -> tuple[str, str]:
    """The text of a file with `\\n` at the ends of its lines, and the encoding that it names.

    Raises:
        SyntaxError: the bytes are not in that encoding, or there is no such encoding.
    """
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    try:
        text = source.decode(encoding)
    except UnicodeDecodeError as error:
        raise SyntaxError(f"encoding problem: {error}") from error
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding


def to_python3(text: str, path: str, in_package: bool, print_function: bool) -> str:
    """Returns the program in Python 3's syntax; the meaning of its values may differ.

    Args:
        text: the program.
        path: the path of its file.
        in_package: whether the file is imported as part of a package, where Python 2 also searched
            the file's folder for modules.
        print_function: whether `print` is a function in the program.

    Raises:
        NotPython2Error: the text can't be read as Python 2.
    """
    text = _SET_ENCODING.sub(r"\1pass", text if text.endswith("\n") else text + "\n")
    names = [*_FIXERS, *(["import"] if in_package else ())]
    names += [] if print_function or _imports_print(text) else ["print"]
    tool, pgen2 = _tool(tuple(names), print_function)
    try:
        return str(tool.refactor_string(without_tabs(text), os.path.abspath(path)))
    except pgen2.parse.ParseError as error:
        place = _PLACE.search(str(error))
        raise NotPython2Error(int(place[1]) if place else 0) from error
    except (pgen2.tokenize.TokenError, IndentationError) as error:
        line = getattr(error, "lineno", None) or _line(error.args)
        raise NotPython2Error(line) from error
    except RecursionError as error:
        raise MoxValueError(
            f"{path} cannot be ported: an expression is nested too deep."
        ) from error


def _import_grammar() -> None:
    """Imports the grammar of Python 2, whose tables fissix stores in a file at the first import.

    fissix logs this on the root logger, and fails if it can't write the file; a temporary folder
    then gets the tables.
    """
    import fissix

    root = logging.getLogger()
    root.addFilter(_is_not_fissix)
    try:
        with tempfile.TemporaryDirectory() as folder:
            if not _can_write(fissix.CACHE_DIR):
                fissix.CACHE_DIR = Path(folder)
            importlib.import_module("fissix.pygram")
    finally:
        root.removeFilter(_is_not_fissix)


def _is_not_fissix(record: logging.LogRecord) -> bool:
    return "fissix" not in Path(record.pathname).parts


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


@functools.cache
def _tool(names: tuple[str, ...], print_function: bool) -> tuple[Any, Any]:
    """Returns the fixers, which take longer to create than to run on a file, and their parser."""
    _import_grammar()
    from fissix import pgen2, refactor

    logging.getLogger("RefactoringTool").setLevel(logging.ERROR)
    tool = refactor.RefactoringTool(
        [_OWN_FIXERS.get(name, f"fissix.fixes.fix_{name}") for name in names],
        {"print_function": print_function},
    )
    return tool, pgen2


def _line(arguments: tuple[object, ...]) -> int:
    place = arguments[1] if len(arguments) > 1 else None
    return int(place[0]) if isinstance(place, tuple) and place else 0


def _imports_print(text: str) -> bool:
    return re.search(r"^from __future__ import .*\bprint_function\b", text, re.M) is not None


def without_tabs(text: str) -> str:
    """Returns the program indented by spaces; a tab of Python 2 goes to the next multiple of 8."""
    if "\t" not in text:
        return text
    inside = _inside_strings(text)
    lines = text.split("\n")
    for number, line in enumerate(lines):
        body = line.lstrip(" \t\f")
        if number + 1 not in inside and "\t" in line[: len(line) - len(body)]:
            indent = line[: len(line) - len(body)].replace("\f", "")
            lines[number] = indent.expandtabs(_TAB) + body
    return "\n".join(lines)


def _inside_strings(text: str) -> set[int]:
    """Returns the numbers of the lines that begin inside a string."""
    from fissix.pgen2 import token
    from fissix.pgen2 import tokenize as python2

    inside: set[int] = set()
    try:
        for kind, _, (first, _), (last, _), _ in python2.generate_tokens(
            io.StringIO(text).readline
        ):
            if kind == token.STRING:
                inside.update(range(first + 1, last + 1))
    except (python2.TokenError, IndentationError):
        pass  # The parser will say where.
    return inside
