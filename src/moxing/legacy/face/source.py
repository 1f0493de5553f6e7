"""Compiles the user's files: Python 2 is ported, and calls of old libraries are made to work."""

from __future__ import annotations

import ast
import types

from moxing.legacy.libraries import calls
from moxing.legacy.python2 import port


def compiled(source: bytes, path: str, in_package: bool = False) -> types.CodeType | None:
    """The code of a file of the user's; None where Python's own compiler makes the same.

    Args:
        source: the contents of the file.
        path: of the file, as tracebacks name it.
        in_package: whether it is imported as part of a package.

    Raises:
        SyntaxError: it is neither Python 3 nor Python 2.
        MoxValueError: it is Python 2 that can't be ported.
    """
    tree = port.parse_ported(source, path, in_package)
    changed = tree is not None
    if calls.may_change(source):
        tree = tree or ast.parse(source, path)
        changed |= calls.change(tree)
    if tree is None or not changed:
        return None
    return compile(tree, path, "exec", dont_inherit=True)
