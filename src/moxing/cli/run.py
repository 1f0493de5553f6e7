"""`mox run SCRIPT [flags]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from moxing.flags.table import get_help

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
        print(_HELP + "\n".join(f"  {line}" for line in get_help().splitlines()))
        return 0
    if script.startswith("-"):
        print(
            f"mox: error: {script} stands before the script: mox run SCRIPT.py {script} ...",
            file=sys.stderr,
        )
        return 2
    from moxing.legacy.program import launcher

    return launcher.run(script, rest)
