"""What runs in place of a training, in a job of the tests: it notes what it is told.

The environment says how: FOLDER for its notes; CODES, how each task ends at each start
(`137,wait/wait,wait`: at the first, task 0 by SIGKILL, and task 1 when it is told; later both when
they are told); SAVES, the seconds that it takes to save.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

ME = os.environ["SLURM_PROCID"]
NOTES = Path(os.environ["FOLDER"]) / f"task-{ME}"
told: list[int] = []


def note(text: str) -> None:
    with NOTES.open("a") as file:
        file.write(text + "\n")


def hear(number: int, frame: FrameType | None) -> None:
    del frame
    told.append(number)
    note("told")
    if len(told) > 1:
        note("ended by a second signal")
        os._exit(143)


def main() -> None:
    begun = NOTES.read_text().split("\n").count("started") if NOTES.exists() else 0
    signal.signal(signal.SIGTERM, hear)
    note("started")
    ends = [start.split(",") for start in os.environ["CODES"].split("/")]
    end = (ends[begun] if begun < len(ends) else ends[-1]) if any(ends[0]) else ["wait"] * 9
    own = (end + ["wait"] * 9)[int(ME)] or "wait"
    if own == "hang":
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        signal.pause()
    if own != "wait":
        time.sleep(0.5)
        if int(own) > 128 and int(own) != 143:
            os.kill(os.getpid(), int(own) - 128)
        sys.exit(int(own))
    while not told:
        time.sleep(0.05)
    until = time.monotonic() + float(os.environ["SAVES"])
    while time.monotonic() < until:
        time.sleep(0.05)
    note("saved")
    sys.exit(143)


if __name__ == "__main__":
    main()
