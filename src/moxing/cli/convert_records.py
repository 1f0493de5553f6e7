"""`mox convert` if it reads or writes OFRecord parts, or writes class folders."""

from __future__ import annotations

import os
import sys

from moxing.errors import MoxError, escaped
from moxing.framework import file


def is_meant(src: str, to: str) -> bool:
    """Whether the arguments mean a conversion of this module, and not class folders to TFRecord."""
    return to != "tfrecord" or file.exists(os.path.join(src, "part-0"))


def run(src: str, dst: str, to: str, parts: int | None, skip_bad: bool = False) -> int:
    """Converts; returns the exit code."""
    import moxing.flow  # noqa: F401
    from moxing.engine.graph import devices
    from moxing.flow.data.convert import convert

    devices.has_gpu()  # This call drops TensorFlow's complaint about a missing driver.
    try:
        done = convert(src, dst, to, parts, skip_bad)
    except MoxError as error:
        print(f"mox: error: {error}", file=sys.stderr)
        return 1
    left_out = f", left out {done.left_out} that can't be read" if done.left_out else ""
    files = f"{done.files} file{'s' * (done.files != 1)}"
    print(f"Wrote {done.images} images to {files} in {escaped(dst)}{left_out}.")
    return 0
