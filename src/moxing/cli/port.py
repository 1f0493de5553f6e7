"""`mox port FILE... [--write]`: ports programs of Python 2, and shows or writes the changes."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Sequence

from moxing.cli.options import Parser
from moxing.errors import MoxError, MoxValueError, escaped
from moxing.framework import atomic, named_pipes

_DESCRIPTION = """\
Shows as a diff what a program of Python 2 becomes for Python 3. `mox run` ports such files itself,
as they are imported; with --write the files are changed, for good."""

_LARGEST = 1 << 24  # Bytes of a program.


def main(arguments: Sequence[str]) -> int:
    """Ports the files; returns the exit code: 1 if a file can't be ported."""
    parser = Parser(
        prog="mox port",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a Python file")
    parser.add_argument("--write", action="store_true", help="change the files")
    given = parser.parse_args(list(arguments))
    failed = False
    for file in given.files:
        try:
            _port(file, given.write)
        except MoxError as error:
            print(f"mox: error: {error}", file=sys.stderr)
            failed = True
    return int(failed)


def _port(file: str, write: bool) -> None:
    from moxing.legacy.python2 import beside, port

    try:
        source = _read(file)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise MoxValueError(f"cannot read {file}: {reason}.") from error
    in_package = os.path.exists(os.path.join(os.path.dirname(os.path.abspath(file)), "__init__.py"))
    try:
        ported = port.port(source, file, in_package, beside.evidence(source, file))
    except SyntaxError as error:
        from moxing.legacy.program import complaints

        error.filename = error.filename or file
        raise MoxValueError(complaints.about_syntax(error)) from error
    if ported is None:
        print(f"mox: {escaped(str(file))} is Python 3 already.", file=sys.stderr)
    elif write:
        _write(file, ported.text.encode(ported.encoding))
        print(f"mox: {escaped(str(file))} is Python 3 now.", file=sys.stderr)
    else:
        lines = difflib.unified_diff(
            ported.original.splitlines(True), ported.text.splitlines(True), file, file
        )
        sys.stdout.writelines(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _read(file: str) -> bytes:
    named_pipes.refuse(file)
    with open(file, "rb") as stream:
        source = stream.read(_LARGEST + 1)  # A device such as /dev/zero has no end.
    if len(source) > _LARGEST:
        raise ValueError(f"it has more than {_LARGEST:,} bytes")
    return source


def _write(file: str, content: bytes) -> None:
    target = os.path.realpath(file)  # A link stays a link.
    try:
        with atomic.replacing(target, like=target) as descriptor:
            atomic.write_all(descriptor, content)
    except OSError as error:
        raise MoxValueError(f"cannot write {file}: {error.strerror}.") from error
