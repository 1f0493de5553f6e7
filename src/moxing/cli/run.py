"""`mox run SCRIPT [flags]`."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence

import moxing

_HELP = """\
usage: mox run SCRIPT.py [flags]

Runs a program as `python SCRIPT.py` would, with TensorFlow 1.x as its own modules know it. Flags
after SCRIPT.py are the program's own and openmox's, in any order; `mox run SCRIPT.py --help` shows
the program's. MOX_DEBUG=1 in the environment shows the traceback of every error.

flags of openmox:
"""


def main(arguments: Sequence[str]) -> int:
    """Runs a program.

    Args:
        arguments: the script and its flags.

    Returns:
        The exit code of the program, or 2 where it could not start.
    """
    if not arguments:
        print("mox: error: name the script: mox run SCRIPT.py [flags]", file=sys.stderr)
        return 2
    script, *rest = arguments
    if script in ("-h", "--help"):
        print(_HELP + "\n".join(f"  {line}" for line in _flag_help().splitlines()))
        return 0
    if script.startswith("-"):
        print(
            f"mox: error: {script} stands before the script: mox run SCRIPT.py {script} ...",
            file=sys.stderr,
        )
        return 2
    from moxing.legacy.program import launcher

    return launcher.run(script, rest)


def _flag_help() -> str:
    """The help of the flag table, read from its file: its package imports TensorFlow."""
    path = os.path.join(os.path.dirname(moxing.__file__), "tensorflow", "flags.py")
    return runpy.run_path(path, run_name="moxing_flags")["get_help"]()
