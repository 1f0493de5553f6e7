"""`mox convert` where OFRecord parts are read or written, or class folders are written."""

from __future__ import annotations

import os
import sys

from moxing.errors import MoxError


def is_meant(src: str, to: str) -> bool:
    """Whether this file's conversion is meant, and not that of class folders to TFRecord."""
    return to != "tfrecord" or os.path.exists(os.path.join(src, "part-0"))


def run(src: str, dst: str, to: str, parts: int | None) -> int:
    """Converts; returns the exit code."""
    import moxing.flow  # noqa: F401
    from moxing.flow.data.convert import convert

    try:
        images, files = convert(src, dst, to, parts)
    except MoxError as error:
        print(f"mox: error: {error}", file=sys.stderr)
        return 1
    print(f"Wrote {images} images to {files} file{'s' * (files != 1)} in {dst}.")
    return 0
