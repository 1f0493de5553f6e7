"""Says of a step that does not end how long it has taken, and where its input's code is."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from moxing.engine.job.job import Job
from moxing.engine.loop.progress import Progress
from moxing.engine.process import stacks
from moxing.engine.wording import option_names, report
from moxing.logs import TENSORFLOW

_TURNS = 20  # Looks at the step within the limit.
_SESSION = "python/client/session.py"
_STEP = ("_step", "_plain_steps")  # The functions of the loop in which a thread makes a step.


@contextmanager
def told(job: Job, progress: Progress) -> Iterator[None]:
    """While the block runs a job's steps, logs each long step, and again when its time has doubled.

    Args:
        job: the job, whose `stall_timeout` is the limit. Among several processes this limit ends
            the job, so the first line there comes at half of the limit.
        progress: the progress of the loop, which this thread runs.
    """
    alone = job.group.cluster is None
    limit = job.group.stall_timeout / (1 if alone else 2)
    over, loop = threading.Event(), threading.get_ident()

    def watch() -> None:
        step, since, due = -1, 0.0, limit
        while not over.wait(limit / _TURNS):
            now = time.monotonic()
            if progress.step != step or not in_step(loop):
                step, since, due = progress.step, now, limit
            elif now - since >= due:
                due *= 2
                took, places = now - since, stacks.of_input()
                text = report.stalled(step, progress.global_step, took, places, alone)
                TENSORFLOW.warning("%s", text)

    threading.Thread(target=option_names.carried(watch), name="stall", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def in_step(thread: int) -> bool:
    """Whether the thread of a loop is in a session call of a step, and not in a save or a hook.

    Python code of the input that the call runs may be inside it.
    """
    frame = sys._current_frames().get(thread)
    while frame is not None and not frame.f_code.co_filename.endswith(_SESSION):
        frame = frame.f_back
    while frame is not None and frame.f_code.co_name not in _STEP:
        frame = frame.f_back
    return frame is not None
