"""Compiles the user's files: Python 2 is ported, and calls of old libraries are made to work."""

from __future__ import annotations

import ast
import types

from moxing.legacy.face import messages
from moxing.legacy.libraries import calls
from moxing.legacy.python2 import port


def compiled(
    source: bytes, path: str, in_package: bool = False, is_main: bool = False
) -> types.CodeType | None:
    """Returns the code of a user's file; None if Python's own compiler makes the same code.

    Args:
        source: the contents of the file.
        path: the path of the file, as tracebacks show it.
        in_package: whether the file is imported as part of a package.
        is_main: whether the file is the program's main file.

    Raises:
        SyntaxError: the file is neither Python 3 nor Python 2.
        MoxValueError: the file is Python 2 and can't be ported.
    """
    code = messages.compiled(source, path)
    if code is not None:
        return code
    tree = port.parse_ported(source, path, in_package, is_main)
    changed = tree is not None
    if calls.may_change(source):
        tree = tree or ast.parse(source, path)
        changed |= calls.change(tree)
    if tree is None or not changed:
        return None
    return compile(tree, path, "exec", dont_inherit=True)
