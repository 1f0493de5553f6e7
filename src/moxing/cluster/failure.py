"""The error that a task raises when another one ended its work."""

from __future__ import annotations

from moxing.cluster.cluster import named
from moxing.errors import MoxError, MoxRuntimeError


class PeerFailureError(MoxRuntimeError):
    """A task of the job failed, died or stands still; the message says which, where and why."""

    exit_code = 143  # As of a process that was preempted: start the job again.


def died(task: str, address: str, why: str, step: int | None) -> str:
    return f"{named(task, address)} died: {why}{_at(step)}"


def stalled(task: str, address: str, step: int | None, seconds: float) -> str:
    return f"{named(task, address)} has stood still{_at(step)} for {seconds:.0f} s"


def silent(task: str, address: str, step: int | None, seconds: float, limit: float) -> str:
    return (
        f"{named(task, address)} has sent nothing for {seconds:.0f} s{_at(step)}; the job ends when"
        f" that lasts {limit:.0f} s."
    )


def failed(task: str, address: str, reason: str) -> str:
    return f"{named(task, address)} failed: {reason}"


def reason_of(error: BaseException) -> str:
    """What a task tells the others of its own error: one line, not long."""
    text = " ".join(str(error).split())
    if not isinstance(error, MoxError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text if len(text) <= 600 else text[:597] + "..."


def _at(step: int | None) -> str:
    return "" if step is None else f" at step {step}"
