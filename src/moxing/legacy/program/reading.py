"""Reads and compiles the file of a program, or raises an error that says why it can't."""

from __future__ import annotations

import io
import os
import types

from moxing.errors import MoxValueError, near_files
from moxing.legacy.face import source as users_source
from moxing.legacy.python2 import signs

# Enough bytes for a first line: a file that is no program may be large.
_FIRST = 256


def read_program(script: str) -> types.CodeType:
    """Compiles a program.

    Raises:
        MoxValueError: there is no such file, or it is not a readable Python file.
        SyntaxError: the program is neither Python 3 nor Python 2.
    """
    if not script:
        raise MoxValueError("the name of the script is empty: mox run SCRIPT.py [flags]")
    if os.path.isdir(script):
        raise MoxValueError(f"{script} is a directory; name the script in it.")
    if not os.path.exists(script):
        raise MoxValueError(f"there is no file {script} in {os.getcwd()}.{near_files(script)}")
    if not os.path.isfile(script):
        # Opening a pipe would wait for a writer.
        raise MoxValueError(f"{script} is not a regular file.")
    try:
        with io.open_code(os.path.abspath(script)) as file:
            source = file.read(_FIRST)
            if not script.endswith(".py") and not signs.is_script(source):
                raise MoxValueError(
                    f"{script} is not a Python program: its name does not end in .py, and its first"
                    " line is not #!/usr/bin/env python."
                )
            source += file.read()
    except OSError as error:
        raise MoxValueError(f"cannot read {script}: {error.strerror}.") from error
    if b"\0" in source:
        raise MoxValueError(
            f"{script} is not a Python program: it holds NUL bytes, as damaged files and text in"
            " UTF-16 do."
        )
    try:
        path = os.path.abspath(script)
        changed = users_source.compiled(source, path, is_main=True)
        return changed or compile(source, path, "exec", dont_inherit=True)
    except (ValueError, MemoryError, RecursionError) as error:
        reason = str(error) or "an expression in it is too large or nested too deeply"
        raise MoxValueError(f"{script} cannot be compiled: {reason}.") from error
