"""`mox convert SRC DST --to=tfrecord`: images in class folders become TFRecord files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from moxing.errors import MoxError

_DESCRIPTION = """\
SRC is a folder with one folder of images a class. DST gets TFRecord files with the features that
slim's readers and mox.ImageClassificationTFRecordDataset want, and labels.txt. Every image is
decoded once, and every file is read again."""


def main(arguments: Sequence[str]) -> int:
    """Converts; returns the exit code."""
    parser = argparse.ArgumentParser(prog="mox convert", description=_DESCRIPTION)
    parser.add_argument("src", metavar="SRC", help="folder of class folders")
    parser.add_argument("dst", metavar="DST", help="folder to write to")
    parser.add_argument("--to", choices=("tfrecord",), required=True, help="what to write")
    parser.add_argument(
        "--parts", type=int, metavar="N", help="how many files; default: each of about 128 MB"
    )
    parser.add_argument(
        "--skip-bad",
        "--skip_bad",
        action="store_true",
        help="leave out images that can't be read, instead of ending at the first",
    )
    given = parser.parse_args(list(arguments))
    # Only now, so that `mox --help` does not wait for TensorFlow.
    import moxing.tensorflow  # noqa: F401
    from moxing.tensorflow.datasets.convert import to_tfrecord

    try:
        done = to_tfrecord(given.src, given.dst, given.parts, given.skip_bad)
    except MoxError as error:
        text = str(error).replace("skip_bad=True", "--skip-bad")
        print(f"mox: error: {text}", file=sys.stderr)
        return 1
    left_out = f", left out {done.left_out} that can't be read" if done.left_out else ""
    files = f"{len(done.files)} file{'s' * (len(done.files) != 1)}"
    print(f"Wrote {done.images} images to {files} in {given.dst}{left_out}.")
    return 0
