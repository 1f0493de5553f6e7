"""`mox run SCRIPT [flags]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from moxing.flags.table import get_help

_HELP = """\
usage: mox run [--face=PACKAGE] SCRIPT.py [flags]
       mox run [--face=PACKAGE] -m PACKAGE.MODULE [flags]

Runs a program as `python SCRIPT.py` or `python -m PACKAGE.MODULE` would, with TensorFlow 1.x as its
own modules know it. Flags after SCRIPT.py are the program's own and openmox's, in any order;
`mox run SCRIPT.py --help` shows the program's. MOX_DEBUG=1 in the environment shows the traceback
of every error.

  --face=PACKAGE   an installed package that is written for TensorFlow 1.x too; may be repeated

flags of openmox:
"""


def main(arguments: Sequence[str]) -> int:
    """Runs a program.

    Args:
        arguments: the script and its flags.

    Returns:
        The exit code of the program, or 2 where it could not start.
    """
    named, rest = _named(list(arguments))
    as_module = rest[:1] == ["-m"]
    rest = rest[as_module:]
    if not rest or "" in named:
        want = "module: mox run -m PACKAGE.MODULE" if as_module else "script: mox run SCRIPT.py"
        want = "package: mox run --face=PACKAGE SCRIPT.py" if "" in named else want
        print(f"mox: error: name the {want} [flags]", file=sys.stderr)
        return 2
    script, *rest = rest
    if script in ("-h", "--help"):
        print(_HELP + "\n".join(f"  {line}" for line in get_help().splitlines()))
        return 0
    if script.startswith("-"):
        print(
            f"mox: error: {script} stands before the script: mox run SCRIPT.py {script} ...",
            file=sys.stderr,
        )
        return 2
    from moxing.legacy.program import launcher

    return launcher.run(script, rest, as_module, named)


def _named(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The packages that --face names before the script, and what follows them."""
    named: list[str] = []
    while arguments and arguments[0].partition("=")[0] == "--face":
        _, equals, names = arguments.pop(0).partition("=")
        if not equals and arguments:
            names = arguments.pop(0)
        named += names.split(",")
    return named, arguments
