"""A folder for sockets, for as long as the launcher lives: `python -m moxing.launch.private.room`.

This command runs at the far end of each ssh connection, and as a child of the launcher on the
launcher's own machine. It prints the path of a new folder that only this user may enter, and
removes the folder when its input ends: then no launcher waits any more, however the launcher ended.

With `--probe` the command first finds out whether tasks can have networks of their own here.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from moxing import signals
from moxing.launch.private.inside import probe

MARK = "mox-room: "  # Before the path: a shell's start-up files may print lines of their own.
PROBE = "--probe"
_LONGEST = 50  # Bytes: the path of a Unix socket has 107 at most, and ssh adds some of its own.
_EVERYWHERE = "/tmp"


def main(words: Sequence[str]) -> int:
    """Makes the folder, waits for the end of the input, and removes the folder."""

    def end(number: int, frame: FrameType | None) -> NoReturn:
        del frame
        sys.exit(signals.EXIT_BASE + number)

    signals.install(dict.fromkeys((signal.SIGTERM, signal.SIGINT, signal.SIGHUP), end))
    if PROBE in words and (problem := probe()):
        print(problem, file=sys.stderr)
        return 1
    parent = tempfile.gettempdir()
    try:
        folder = tempfile.mkdtemp(
            prefix="mox-room-", dir=parent if len(os.fsencode(parent)) <= _LONGEST else _EVERYWHERE
        )
    except OSError as error:
        print(f"No folder for sockets can be made in {parent}: {error.strerror}.", file=sys.stderr)
        return 1
    try:
        print(f"{MARK}{folder}", flush=True)
        while os.read(0, 1024):
            pass
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
