"""`mox legacy on|off|status`: whether plain `python` runs programs of TensorFlow 1.x."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from moxing.errors import MoxError
from moxing.legacy import arming

_DESCRIPTION = """\
on: from now on, in this Python environment, `python SCRIPT.py` runs a program that imports moxing
or oneflow as `mox run SCRIPT.py` does; other programs notice nothing. off: no longer. status: which
of the two it is."""


def main(arguments: Sequence[str]) -> int:
    """Switches or shows; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="mox legacy",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("on", "off", "status"))
    what = parser.parse_args(list(arguments)).what
    try:
        print({"on": arming.arm, "off": arming.disarm, "status": arming.status}[what]())
    except MoxError as error:
        print(f"mox: error: {error}", file=sys.stderr)
        return 1
    return 0
