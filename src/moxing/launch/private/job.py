"""A job on several machines whose tasks have a network that nobody else reaches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from moxing.cluster import secret
from moxing.errors import MoxValueError, shown
from moxing.launch.hosts import Spread, Task, over_ssh, places
from moxing.launch.private.carriers import Carriers
from moxing.launch.private.inside import Place
from moxing.launch.start import Start

MOST = 256  # Most tasks: all that they send to other machines passes through the launcher's.
_BLOCK = 250  # Machines whose addresses differ in the last number only.


@dataclass(frozen=True)
class Private:
    """A job whose tasks are in network namespaces of their own.

    Attributes:
        spread: the tasks and their machines.
        network: the connections that `supervise` opens for each start.
    """

    spread: Spread
    network: Carriers

    @property
    def title(self) -> str:
        return self.spread.title

    @property
    def over_ssh(self) -> bool:
        return True

    def starts(self, environ: Mapping[str, str]) -> dict[str, Start]:
        """Returns how to start each task over ssh, once the network is open."""
        found, shared, where = {}, secret.new(), _addresses(self.spread)
        for number, (task, host) in enumerate(places(self.spread).items()):
            place = Place(self.network.folders[host], number, list(where.values()))
            command = over_ssh(self.spread, task, where, place.words())
            found[f"{task[0]} {task[1]}"] = Start(command, environ, listens=True, secret=shared)
        return found


def private(spread: Spread) -> Private:
    """Returns the same job in a private network.

    Raises:
        MoxValueError: the job has too many tasks.
    """
    tasks = places(spread)
    check_count(len(tasks))
    hosts = _hosts(spread)
    return Private(spread, Carriers(list(tasks.values()), spread.directory, hosts))


def check_count(tasks: int) -> None:
    """Refuses more tasks than the launcher's machine can connect.

    Raises:
        MoxValueError: there are too many.
    """
    if tasks > MOST:
        raise MoxValueError(
            f"--private with {shown(tasks)} tasks: {MOST} is the most, as all that they send"
            " to other machines passes through this one."
        )


def _hosts(spread: Spread) -> dict[str, str]:
    """Returns the address of each machine in the private network, a loopback address."""
    return {
        host: f"127.1.{number // _BLOCK}.{number % _BLOCK + 1}"
        for number, host in enumerate(spread.hosts)
    }


def _addresses(spread: Spread) -> dict[Task, str]:
    """Returns where each task listens: no two share a port, as servers open it on all addresses.

    The tasks of a machine share an address, by which programs count the processes of a machine.
    """
    hosts = _hosts(spread)
    return {
        task: f"{hosts[host]}:{spread.port + number}"
        for number, (task, host) in enumerate(places(spread).items())
    }
