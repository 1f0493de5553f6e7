"""`mox legacy on|off|status`: whether plain `python` runs programs of TensorFlow 1.x."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from moxing.cli.options import Parser
from moxing.errors import MoxError
from moxing.legacy.plain import arming

_DESCRIPTION = """\
on: from now on, in this Python environment, `python SCRIPT.py` runs a program that imports moxing
or oneflow as `mox run SCRIPT.py` does; other programs do not change. on --all: also programs that
use names which TensorFlow 2.x no longer has. off: ends this. status: tells whether it is on."""


def main(arguments: Sequence[str]) -> int:
    """Switches or shows; returns the exit code."""
    parser = Parser(
        prog="mox legacy",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("on", "off", "status"))
    parser.add_argument(
        "--all",
        action="store_true",
        help="with on: programs of TensorFlow 1.x that do not import moxing too",
    )
    given = parser.parse_args(list(arguments))
    if given.all and given.what != "on":
        parser.error(f"--all belongs to `mox legacy on`; `mox legacy {given.what}` has no flags")
    act = {"on": lambda: arming.arm(given.all), "off": arming.disarm, "status": arming.status}
    try:
        print(act[given.what]())
    except MoxError as error:
        print(f"mox: error: {error}", file=sys.stderr)
        return 1
    return 0
