"""Joins the tasks of a job: opens the control channel, and leaves it at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from moxing.cluster import failure
from moxing.cluster.cluster import EVALUATOR, PS, Cluster
from moxing.cluster.control.hub import Hub
from moxing.cluster.control.member import Member
from moxing.cluster.control.spoke import CHIEF, Spoke
from moxing.cluster.control.watch import Watch
from moxing.cluster.failure import PeerFailureError
from moxing.cluster.rendezvous import meeting
from moxing.cluster.wire import Link
from moxing.errors import MoxValueError

_VERDICT_SECONDS = 3.0


@contextmanager
def join(
    cluster: Cluster,
    *,
    digest: Mapping[str, str],
    timeout: float,
    stall_timeout: float,
    works: Callable[[], bool] = lambda: False,
) -> Iterator[Member]:
    """Waits for the other tasks, and keeps a connection to them while the body runs.

    Leaving the body normally announces `finished`; the chief then stays until every worker is
    finished. Leaving it by an error announces `failed`.

    Args:
        cluster: the tasks. A cluster of one task opens no socket.
        digest: facts that must be equal in all tasks (flags, the script), by their names for
            messages.
        timeout: seconds to wait for all tasks.
        stall_timeout: seconds of a task's silence that end the job; also how long a chief that has
            finished waits for a task that makes no step.
        works: whether this task, which reports no steps, works by itself now: a chief that has
            finished then waits for it without a limit. False: it waits for other tasks.

    Raises:
        MissingPeerError: a task did not come in time, or the job is running without this task.
        MoxRuntimeError: a task differs, or this task's port is taken.
        PeerFailureError: another task is the first cause of the body's error, or fails while the
            chief waits for it at the end.
    """
    member = Member(cluster)
    channel = open_channel(
        cluster, digest, timeout, stall_timeout, member.deliver, lambda: member.step, works
    )
    member.connect(channel.send)
    try:
        with leaving(channel, member):
            yield member
    finally:
        channel.close()


class Channel(Protocol):
    """Carries a task's messages to and from the other tasks."""

    def send(self, message: Mapping[str, Any]) -> None: ...
    def await_workers(self, member: Member) -> None: ...
    def close(self) -> None: ...


def open_channel(
    cluster: Cluster,
    digest: Mapping[str, str],
    timeout: float,
    stall_timeout: float,
    deliver: Callable[[dict[str, Any]], None],
    step: Callable[[], int | None],
    works: Callable[[], bool],
) -> Channel:
    """Waits until all tasks have met, and starts to watch them."""
    if cluster.job == EVALUATOR:
        raise MoxValueError(
            f"{cluster.task} can't join the job's tasks: an evaluator reads checkpoints only."
        )
    if cluster.alone:
        return _HubChannel(Hub(cluster, {}, deliver, stall_timeout, step))
    links = meeting.meet(cluster, digest, timeout)
    if cluster.is_chief:
        return _HubChannel(Hub(cluster, links, deliver, stall_timeout, step))
    spoke = Spoke(cluster, links[CHIEF], deliver, step, stall_timeout, works)
    return _SpokeChannel(spoke, links)


class _HubChannel:
    """The chief's own channel: its messages go to the hub without a socket."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._watch = Watch(hub.links, hub.handle, hub.lost, hub.tick) if hub.links else None
        if self._watch is not None:
            self._watch.start()

    def send(self, message: Mapping[str, Any]) -> None:
        self._hub.handle(CHIEF, message)

    def await_workers(self, member: Member) -> None:
        """Waits while workers work: the channel and the chief's server end with this process."""
        began = time.monotonic()
        while member.wait("all_finished", 0.5) is None and member.first_failure() is None:
            now = time.monotonic()
            for peer in self._hub.idlers(now, began):
                self._hub.stalled(peer, now - max(peer.moved, began))

    def close(self) -> None:
        if self._watch is not None:
            self._watch.end()
        self._hub.close()


class _SpokeChannel:
    def __init__(self, spoke: Spoke, links: Mapping[str, Link]) -> None:
        self._spoke = spoke
        self._watch = Watch(links, spoke.receive, spoke.lost, spoke.tick)
        self._watch.start()

    def send(self, message: Mapping[str, Any]) -> None:
        self._spoke.send(message)

    def await_workers(self, member: Member) -> None:
        """Does nothing: no task needs a worker that is not the chief after its end."""

    def close(self) -> None:
        self._watch.end()
        self._spoke.close()


@contextmanager
def leaving(channel: Channel, member: Member) -> Iterator[None]:
    """Announces how the body ended, and finds which task caused an error."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, SystemExit) and error.code in (None, 0):
            _finish(channel, member)
            raise
        cause = _first_cause(channel, member, error)
        if cause is not None and isinstance(error, Exception) and cause not in str(error):
            raise PeerFailureError(cause) from error
        raise
    else:
        _finish(channel, member)


def _finish(channel: Channel, member: Member) -> None:
    if member.has_failed:
        member.wait("failed", _VERDICT_SECONDS)  # By then the chief has told every task.
    elif member.first_failure() is None or member.cluster.is_chief:
        _announce_end(channel, member)


def _announce_end(channel: Channel, member: Member) -> None:
    if member.cluster.job == PS:
        if member.event("all_finished") is None and member.first_failure() is None:
            member.announce("failed", reason="it left before the workers were finished")
    else:
        member.announce("finished")
    if member.cluster.is_chief:
        channel.await_workers(member)
        if (reason := member.first_failure()) is not None:
            raise PeerFailureError(reason)


def _first_cause(channel: Channel, member: Member, error: BaseException) -> str | None:
    if member.first_failure() is None:
        stopped = failure.how_of(error) == failure.STOPPED
        member.announce("failed", reason=failure.reason_of(error), stopped=stopped)
    event = member.wait("failed", _VERDICT_SECONDS)
    if event is None:
        return None
    if event["task"] == member.cluster.task and event["how"] in (failure.REPORTED, failure.STOPPED):
        return None
    return event["reason"]
