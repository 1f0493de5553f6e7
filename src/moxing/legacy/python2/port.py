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
from moxing.legacy.python2 import beside, lines, rewrite, signs, syntax, unconverted

_DIVISION = re.compile(r"^from __future__ import .*\bdivision\b", re.M)
_SIGN = 60  # Characters of the evidence that a message shows.


@dataclass(frozen=True)
class Ported:
    """A program of Python 2 and its port.

    Attributes:
        original: the text of the program.
        text: the text for Python 3.
        encoding: the encoding of the file.
        sign: the evidence that the program is Python 2.
        line: the line of the evidence.
    """

    original: str
    text: str
    encoding: str
    sign: str
    line: int


def port(
    source: bytes, path: str, in_package: bool = False, because: tuple[str, int] | None = None
) -> Ported | None:
    """Ports a program to Python 3 if it was written for Python 2.

    Args:
        source: the content of the program's file.
        path: the path of the file.
        in_package: whether the file is imported as part of a package.
        because: the evidence in other files, with its line, that this file is Python 2 unless its
            text shows Python 3.

    Returns:
        The port; None if the program runs on Python 3 unchanged.

    Raises:
        SyntaxError: the program is neither Python 3 nor Python 2.
        MoxValueError: the program is Python 2, but can't be ported.
    """
    broken: SyntaxError | None = None
    is_function = False
    try:
        tree = _parsed(source, path)
        found = signs.sign(tree) if signs.may_be(source) else None
        if found is None and because is not None and not signs.needs_python3(tree):
            found = because
        if found is None:
            return None
        is_function = not signs.prints(tree)
    except SyntaxError as error:
        if not (error.lineno or error.text) or "escape' codec" in error.msg:
            raise  # The file's bytes can't be decoded, or a Windows path has single backslashes.
        broken = error
        found = ((error.text or "").strip() or error.msg, error.lineno or 1)
    original, encoding = syntax.decoded(source)
    try:
        text = syntax.to_python3(original, path, in_package, is_function)
        # A file that is Python 2 only by a name such as `xrange` may mean true division by `/`, but
        # Python 2 rounded, and so does the port.
        text = rewrite.rewritten(text, division=not _DIVISION.search(original))
    except syntax.NotPython2Error as error:
        reason = broken or SyntaxError("not Python 2", (path, error.line, 0, ""))
        reason.python2_line = error.line  # type: ignore[attr-defined]
        raise reason from None
    except SyntaxError as error:
        raise MoxValueError(
            f"{path} is Python 2 ({found[0]!r} in line {found[1]}), and its port is not Python 3:"
            f" {error.msg}: {(error.text or '').strip()!r}. Change that line; `mox port {path}`"
            " shows the rest."
        ) from error
    return Ported(original, text, encoding, *found)


def main_is_python2() -> bool:
    """Whether the program's main file is written for Python 2."""
    return is_python2(_main())


def _main() -> str:
    return getattr(sys.modules.get("__main__"), "__file__", None) or ""


@functools.cache
def is_python2(path: str) -> bool:
    """Whether a program is written for Python 2."""
    try:
        with open(path, "rb") as file:
            source = file.read()
        is_program = path.endswith(".py") or signs.is_script(source)
        return is_program and port(source, path, because=beside.evidence(source, path)) is not None
    except (OSError, SyntaxError, MoxValueError):
        return False


def _parsed(source: bytes, path: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # They appear when the file is compiled.
        try:
            return ast.parse(source, path)
        except UnicodeDecodeError as error:  # Behind a byte order mark; elsewhere a SyntaxError.
            raise SyntaxError(f"(unicode error) {error}", (path, None, None, None)) from error


def parse_ported(
    source: bytes, path: str, in_package: bool = False, is_main: bool = False
) -> ast.Module | None:
    """Returns the tree of a Python 2 program, and says so on stderr; None for Python 3.

    Args:
        source, path, in_package: see `port`.
        is_main: whether the file is the program's main file.

    Raises:
        SyntaxError: the program is neither.
        MoxValueError: the program can't be ported.
    """
    because = None
    if is_main:
        because = beside.evidence(source, path)
    elif os.path.abspath(path) != os.path.abspath(_main()) and main_is_python2():
        because = ("it belongs to a program of Python 2", 1)
    ported = port(source, path, in_package, because)
    if ported is None or ported.text == ported.original:
        return None
    # TensorFlow's AutoGraph writes such files from the text of a file that was named before.
    if os.path.basename(path).startswith("__autograph_generated_file"):
        return lines.parsed(ported.text, ported.original, path)
    unconverted.note(path)
    sign = ported.sign if len(ported.sign) <= _SIGN else ported.sign[: _SIGN - 3] + "..."
    print(
        f"mox: {path} is Python 2 (line {ported.line}: {sign}): it is ported as it is"
        f" imported; `mox port {path}` shows how.",
        file=sys.stderr,
        flush=True,
    )
    return lines.parsed(ported.text, ported.original, path)
