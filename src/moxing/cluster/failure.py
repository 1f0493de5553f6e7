"""The errors that a task raises because of another task."""

from __future__ import annotations

import re
import signal

from moxing.cluster.cluster import named
from moxing.errors import MoxError, MoxRuntimeError

TOLD_TO_STOP, INTERRUPTED = 128 + signal.SIGTERM, 128 + signal.SIGINT
REPORTED, STOPPED = "reported", "stopped"
# TensorFlow makes an error of its own from an exception of Python code that a graph calls, with the
# traceback of that exception in the message.
_WRAPPED = re.compile(r"^\S*\bPeerFailureError: (.+)$", re.MULTILINE)


class PeerFailureError(MoxRuntimeError):
    """A task of the job failed, died or stands still; the message says which, where and why."""

    # The exit code of a preempted process, whose job is to be started again.
    exit_code = TOLD_TO_STOP


def wrapped(error: BaseException) -> PeerFailureError | None:
    """Returns the loss of a process that an error of TensorFlow was made from; None if none was."""
    found = _WRAPPED.search(str(error)) if hasattr(error, "node_def") else None
    return None if found is None else PeerFailureError(found[1])


class MissingPeerError(MoxRuntimeError):
    """A task of the job did not come or can't be met; the message says which, and where.

    The cause may be timing alone, such as a machine that starts late.
    """

    exit_code = TOLD_TO_STOP


def died(task: str, address: str, why: str, step: int | None) -> str:
    return f"{named(task, address)} died: {why}{_at(step)}"


def stalled(task: str, address: str, step: int | None, seconds: float) -> str:
    return f"{named(task, address)} has stood still{_at(step)} for {seconds:.0f} s"


def silent(task: str, address: str, step: int | None, seconds: float, limit: float) -> str:
    return (
        f"{named(task, address)} has sent nothing for {seconds:.0f} s{_at(step)}; the job ends when"
        f" that lasts {limit:.0f} s."
    )


def failed(task: str, address: str, reason: str, how: str = REPORTED) -> str:
    return f"{named(task, address)} {'has left' if how == STOPPED else 'failed'}: {reason}"


def reason_of(error: BaseException) -> str:
    """Words a task's error for the other tasks, in one short line."""
    text = " ".join(str(error).split())
    if isinstance(error, SystemExit | KeyboardInterrupt):
        text = _exit(error)
    elif not isinstance(error, MoxError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text if len(text) <= 600 else text[:597] + "..."


def how_of(error: BaseException) -> str:
    """Returns `reported` if a task failed by itself, or `stopped` if it was told to leave."""
    return STOPPED if _code(error) in (TOLD_TO_STOP, INTERRUPTED) else REPORTED


def _exit(error: BaseException) -> str:
    code = _code(error)
    if isinstance(code, int) and how_of(error) == STOPPED:
        return f"{signal.Signals(code - 128).name} told it to stop"
    return f"the program ended itself (exit code {code})"


def _code(error: BaseException) -> object:
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return error.code if isinstance(error, SystemExit) else None


def _at(step: int | None) -> str:
    return "" if step is None else f" at step {step}"
