"""`mox convert checkpoint SRC DST`: between TensorFlow's files, flow's folders and open formats."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from moxing.cli.options import Parser
from moxing.errors import MoxError, escaped
from moxing.runs.checkpoints import start_tensorflow

_DESCRIPTION = """\
Where SRC or DST ends in .npz or .safetensors, the other is a TensorFlow checkpoint: a prefix such
as out/model.ckpt-50, or a folder. Names of variables stay as they are.

Else SRC is a checkpoint of moxing.flow (a folder with snapshot_done), and DST the prefix of a
TensorFlow checkpoint to write; or SRC is such a prefix, and DST the folder to write. Types and
shapes are as the flow checkpoint's shapes.json says; one of another program has no such file, and
--like takes them from a TensorFlow checkpoint with the same names. Without either, variables become
vectors of float32, and step counters of int64."""
_OPEN = (".npz", ".safetensors")


def main(arguments: Sequence[str]) -> int:
    """Converts; returns the exit code."""
    parser = Parser(
        prog="mox convert checkpoint",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("src", metavar="SRC", help="checkpoint to read")
    parser.add_argument("dst", metavar="DST", help="checkpoint to write")
    parser.add_argument("--like", metavar="PREFIX", help="TensorFlow checkpoint with the shapes")
    given = parser.parse_args(list(arguments))
    try:
        if given.src.endswith(_OPEN) or given.dst.endswith(_OPEN):
            return _open_format(given.src, given.dst)
        import moxing.flow  # noqa: F401
        from moxing.flow.saving import conversion

        count, kind = conversion.convert(given.src, given.dst, given.like)
    except MoxError as error:
        print(f"mox: error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        place = escaped(str(error.filename or given.dst))
        print(f"mox: error: {place}: {error.strerror or error}.", file=sys.stderr)
        return 1
    print(f"Wrote {count} variables to the {kind} checkpoint {escaped(given.dst)}.")
    return 0


def _open_format(src: str, dst: str) -> int:
    start_tensorflow()
    from moxing.runs.checkpoints import source, target

    values = source.read(src)
    written = target.write(values, dst)
    print(f"Wrote {len(values.arrays)} variables to {escaped(written)}.")
    if values.left_out:
        print(f"Left out {', '.join(map(escaped, values.left_out))}: they hold no numbers.")
    return 0
