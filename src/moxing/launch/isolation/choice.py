"""Decides whether a job on this machine gets a network of its own, and says what holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from moxing.cluster.rendezvous.meeting import OWN_NETWORK
from moxing.errors import MoxNotSupportedError
from moxing.launch.isolation import way_out
from moxing.launch.isolation.namespace import isolate
from moxing.launch.isolation.way_out import WayOut
from moxing.launch.start import Network
from moxing.signals import StopRequest

OPTION = "--isolate"


class Chosen(Network):
    """The network of a job on one machine.

    Args:
        sentence: what holds, for the user.
        way: out of the network, if it is the job's own and has one.
    """

    def __init__(self, sentence: str, way: WayOut | None = None) -> None:
        self._sentence, self._way = sentence, way
        self._say: Callable[[str], None] | None = None

    def open(self, logs: Path, stop: StopRequest, say: Callable[[str], None]) -> None:
        if self._sentence:
            say(self._sentence)
            self._sentence, self._say = "", say

    def lost(self) -> None:
        """Says it if the way out has ended: tasks that need none go on."""
        if self._way is not None and self._say is not None and (why := self._way.ended):
            self._way = None
            self._say(f"The tasks reach nothing outside any more: {way_out.ENGINE} ended: {why}.")


def choose(asked: bool | None, has_ports: bool) -> Network:
    """Enters a network of its own with this process, which must have one thread.

    That is the default for jobs with ports, where the network can have a way out: without one,
    programs would no longer reach their stores, trackers and downloads.

    Args:
        asked: the value of --isolate; None if the user has said neither.
        has_ports: whether the job has several tasks: a task alone opens no port.

    Raises:
        MoxNotSupportedError: a network of its own was asked for, and is not allowed here.
    """
    os.environ.pop(OWN_NETWORK, None)
    if asked is False or (asked is None and not has_ports):
        return Network()
    try:
        way = way_out.enter(OPTION)
    except MoxNotSupportedError as error:
        why = str(error).removeprefix(f"{OPTION}: ").rstrip(".")
        if asked is None:
            return Chosen(
                "Whoever reaches this machine reaches the ports of this job: it has no network of"
                f" its own, as {why}."
            )
        isolate(OPTION)
        sentence = f"The job has a network of its own, without a way out: {why}."
        way = None
    else:
        sentence = (
            "The job has a network of its own: nobody else reaches its ports, and it reaches others"
            f" through {way_out.ENGINE}. --no-isolate leaves it in the machine's network."
        )
    os.environ[OWN_NETWORK] = "1"
    return Chosen(sentence, way)
