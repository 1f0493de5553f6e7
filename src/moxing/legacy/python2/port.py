"""Ports programs of Python 2, as they are imported or for `mox port`."""

from __future__ import annotations

import ast
import functools
import os
import re
import sys
import warnings
from dataclasses import dataclass

from moxing.errors import MoxValueError
from moxing.legacy.python2 import lines, rewrite, signs, syntax

_DIVISION = re.compile(r"^from __future__ import .*\bdivision\b", re.M)


@dataclass(frozen=True)
class Ported:
    """A program of Python 2 and what became of it.

    Attributes:
        original: its text.
        text: for Python 3.
        encoding: of its file.
        sign: what shows that it is Python 2.
        line: where that is.
    """

    original: str
    text: str
    encoding: str
    sign: str
    line: int


def port(
    source: bytes, path: str, in_package: bool = False, of_python2: bool = False
) -> Ported | None:
    """A program for Python 3, if it was written for Python 2.

    Args:
        source: what its file holds.
        path: of its file.
        in_package: whether it is imported as part of a package.
        of_python2: whether it belongs to a program of Python 2, so that it is that too unless its
            text shows Python 3.

    Returns:
        None where it runs on Python 3 as it is.

    Raises:
        SyntaxError: it is neither Python 3 nor Python 2.
        MoxValueError: it is Python 2, but can't be ported.
    """
    broken: SyntaxError | None = None
    is_function = False
    try:
        tree = _parsed(source, path)
        found = signs.sign(tree) if signs.may_be(source) else None
        if found is None and of_python2 and not signs.needs_python3(tree):
            found = ("it belongs to a program of Python 2", 1)
        if found is None:
            return None
        is_function = not signs.prints(tree)
    except SyntaxError as error:
        if not (error.lineno or error.text) or "escape' codec" in error.msg:
            raise  # Its bytes can't be read, or a Windows path has single backslashes.
        broken = error
        found = ((error.text or "").strip() or error.msg, error.lineno or 1)
    original, encoding = syntax.decoded(source)
    try:
        text = syntax.to_python3(original, path, in_package, is_function)
        # Python 3's `/` in a file that only lacks a name may be meant; Python 2 ran it rounding.
        text = rewrite.rewritten(text, division=not _DIVISION.search(original))
    except syntax.NotPython2Error as error:
        reason = broken or SyntaxError("not Python 2", (path, error.line, 0, ""))
        reason.python2_line = error.line  # type: ignore[attr-defined]
        raise reason from None
    except SyntaxError as error:
        raise MoxValueError(
            f"{path} is Python 2 ({found[0]!r} in line {found[1]}), and what the port makes of it"
            f" is not Python 3: {error.msg}: {(error.text or '').strip()!r}. Change that line; `mox"
            f" port {path}` shows the rest."
        ) from error
    return Ported(original, text, encoding, *found)


@functools.cache
def _is_python2(path: str) -> bool:
    """Whether a program is one of Python 2."""
    try:
        with open(path, "rb") as file:
            return path.endswith(".py") and port(file.read(), path) is not None
    except (OSError, SyntaxError, MoxValueError):
        return False


def _parsed(source: bytes, path: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # They are given when it is compiled.
        return ast.parse(source, path)


def parse_ported(source: bytes, path: str, in_package: bool = False) -> ast.Module | None:
    """The tree of a program of Python 2, which standard error names; None for one of Python 3.

    Raises:
        SyntaxError: it is neither.
        MoxValueError: it can't be ported.
    """
    main = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    of_python2 = os.path.abspath(path) != os.path.abspath(main) and _is_python2(main)
    ported = port(source, path, in_package, of_python2)
    if ported is None or ported.text == ported.original:
        return None
    print(
        f"mox: {path} is Python 2 (line {ported.line}: {ported.sign[:60]}): it is ported as it is"
        f" imported; `mox port {path}` shows how.",
        file=sys.stderr,
        flush=True,
    )
    return lines.parsed(ported.text, ported.original, path)
