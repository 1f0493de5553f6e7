"""Runs a job in a cell of a notebook, where an interruption ends the run and not the program.

An error of the user's functions shows the user's frames there, as `mox run` does in a terminal.
"""

from __future__ import annotations

import signal

from moxing.engine.job.job import Job, Result
from moxing.engine.reporting import cell, cell_errors
from moxing.engine.run import execution
from moxing.engine.run.outcome import Stopped
from moxing.logs import TENSORFLOW
from moxing.signals import EXIT_BASE

_INTERRUPTED = EXIT_BASE + signal.SIGINT


def execute(job: Job) -> Result:
    """Runs a job as `execution.execute` does; an interrupted cell gets the result so far."""
    try:
        return execution.execute(job)
    except Stopped as stopped:
        if stopped.code != _INTERRUPTED or cell.shell() is None:
            raise
        TENSORFLOW.info("The cell was interrupted: the result is that of the steps so far.")
        return stopped.result
    except Exception as error:
        if cell.shell() is not None:
            cell_errors.folds(error)
        raise
