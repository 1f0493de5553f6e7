"""`mox convert checkpoint SRC DST`: between the flow dialect's folders and TensorFlow's files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from moxing.errors import MoxError

_DESCRIPTION = """\
SRC is a checkpoint of moxing.flow (a folder with snapshot_done), and DST the prefix of a TensorFlow
checkpoint to write; or SRC is such a prefix, and DST the folder to write. Types and shapes are what
the flow checkpoint's shapes.json says; one of another program has no such file, and --like takes
them from a TensorFlow checkpoint with the same names. Without either, variables become vectors of
float32, and step counters of int64."""


def main(arguments: Sequence[str]) -> int:
    """Converts; returns the exit code."""
    parser = argparse.ArgumentParser(prog="mox convert checkpoint", description=_DESCRIPTION)
    parser.add_argument("src", metavar="SRC", help="checkpoint to read")
    parser.add_argument("dst", metavar="DST", help="checkpoint to write")
    parser.add_argument("--like", metavar="PREFIX", help="TensorFlow checkpoint with the shapes")
    given = parser.parse_args(list(arguments))
    import moxing.flow  # noqa: F401
    from moxing.flow.saving import conversion

    try:
        count, kind = conversion.convert(given.src, given.dst, given.like)
    except MoxError as error:
        print(f"mox: error: {error}", file=sys.stderr)
        return 1
    print(f"Wrote {count} variables to the {kind} checkpoint {given.dst}.")
    return 0
