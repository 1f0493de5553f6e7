"""`mox convert SRC DST --to=...`: images become TFRecord files, OFRecord parts or folders."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from moxing.cli import convert_checkpoint, convert_records
from moxing.cli.options import Parser
from moxing.errors import MoxError, escaped, shown

_DESCRIPTION = """\
SRC is a folder with one folder of images a class, or of TFRecord files, or of OFRecord parts
(part-0, ...). SRC and DST may be URLs, such as s3://bucket/flowers. TFRecord files get the features
that slim's readers and mox.ImageClassificationTFRecordDataset want, and OFRecord parts the features
'encoded' and 'class/label'; labels.txt stands beside them. Every image is decoded once; of class
folders to TFRecord files, every file is read again. `mox convert checkpoint SRC DST` converts
checkpoints of moxing.flow."""


def main(arguments: Sequence[str]) -> int:
    """Converts; returns the exit code."""
    try:
        return _convert(arguments)
    except OSError as error:  # For example: a path is not a folder, or is not writable.
        where = "" if error.filename is None else f"{shown(str(error.filename), plain=True)}: "
        print(
            f"mox: error: {where}{error.strerror or error}. SRC must be a folder that this user may"
            " read, and DST one that this user may make and write to.",
            file=sys.stderr,
        )
        return 1


def _convert(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["checkpoint"]:
        return convert_checkpoint.main(arguments[1:])
    parser = Parser(prog="mox convert", description=_DESCRIPTION)
    parser.add_argument("src", metavar="SRC", help="folder to read")
    parser.add_argument("dst", metavar="DST", help="folder to write to")
    parser.add_argument(
        "--to", choices=("tfrecord", "ofrecord", "folders"), required=True, help="what to write"
    )
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
    try:
        if convert_records.is_meant(given.src, given.to):
            return convert_records.run(given.src, given.dst, given.to, given.parts, given.skip_bad)
        # Imported only here, so that `mox --help` does not wait for TensorFlow.
        import moxing.tensorflow  # noqa: F401
        from moxing.engine.graph import devices
        from moxing.tensorflow.datasets.folders.convert import to_tfrecord

        devices.has_gpu()  # This call drops TensorFlow's complaint about a missing driver.
        done = to_tfrecord(given.src, given.dst, given.parts, given.skip_bad)
    except MoxError as error:
        text = str(error).replace("skip_bad=True", "--skip-bad")
        print(f"mox: error: {text}", file=sys.stderr)
        return 1
    left_out = f", left out {done.left_out} that can't be read" if done.left_out else ""
    files = f"{len(done.files)} file{'s' * (len(done.files) != 1)}"
    print(f"Wrote {done.images} images to {files} in {escaped(given.dst)}{left_out}.")
    return 0
