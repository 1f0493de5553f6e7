"""Carries a job's connections between its machines, by one connection of ssh to each of them.

The launcher's machine and every machine of the job have a folder in which the Unix socket N leads
to task N. OpenSSH forwards N from each other machine to the launcher's, and from there to the
machine of task N.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from moxing.errors import MoxRuntimeError
from moxing.launch.private.carrier import LOST, ROOM, Carrier, end
from moxing.launch.private.room import MARK
from moxing.launch.start import Network
from moxing.signals import StopRequest

_OPEN_SECONDS = 60.0  # Limit for all machines to answer, and again for all forwardings.
_TICK = 0.02
_NAMED = 4  # Machines that one line names.


class Carriers(Network):
    """The connections to all machines of a job, for one start of its tasks at a time.

    Args:
        places: the machine of each task, in the tasks' order.
        directory: where Python starts on each machine.
        addresses: the address of each machine inside the private network, for a log line.
    """

    def __init__(
        self, places: Sequence[str], directory: Path, addresses: Mapping[str, str]
    ) -> None:
        self._places, self._directory, self._addresses = places, directory, addresses
        self._carriers: dict[str, Carrier] = {}
        self._own: subprocess.Popen[bytes] | None = None
        self._own_folder = ""
        self._told = False

    @property
    def folders(self) -> Mapping[str, str]:
        """The folder for sockets of each machine."""
        return {host: carrier.folder for host, carrier in self._carriers.items()}

    def open(self, logs: Path, stop: StopRequest, say: Callable[[str], None]) -> None:
        """Connects to all machines, unless a signal asks to stop; see `lost` for failures.

        Raises:
            MoxRuntimeError: a machine does not answer, or refuses for a lasting reason.
        """
        if not self._told:
            named = [f"{host} is {at}" for host, at in self._addresses.items()]
            say(f"The tasks' network is private. In it, {_some(named)}.")
            self._told = True
        self._open_own()
        for number, host in enumerate(dict.fromkeys(self._places)):
            control = f"{self._own_folder}/ssh-{number}"
            self._carriers[host] = Carrier(host, self._directory, control, logs)
        carriers = self._carriers.values()
        self._until(lambda: all(c.folder for c in carriers), stop, self._unanswered)
        if not stop and self.lost() is None and len(self._carriers) > 1:
            self._forward(stop)

    def lost(self) -> Carrier | None:
        """Returns a connection that has ended, if any."""
        return next((c for c in self._carriers.values() if c.poll() is not None), None)

    def close(self) -> None:
        """Ends all connections; no socket and no folder is left, here or there."""
        for carrier in self._carriers.values():
            carrier.hang_up()
        for carrier in self._carriers.values():
            carrier.close()
        self._carriers.clear()
        if self._own is not None:
            with contextlib.suppress(OSError):
                assert self._own.stdin is not None
                self._own.stdin.close()
            end(self._own)
            shutil.rmtree(self._own_folder, ignore_errors=True)
            self._own = None

    def _open_own(self) -> None:
        """Makes the folder here; a child process removes the folder if this process is killed."""
        self._own = subprocess.Popen(
            ROOM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        assert self._own.stdout is not None
        line = self._own.stdout.readline().decode(errors="surrogateescape").strip()
        if not line.startswith(MARK):
            raise MoxRuntimeError("--private: no folder for sockets can be made here.")
        self._own_folder = line.removeprefix(MARK)

    def _forward(self, stop: StopRequest) -> None:
        """Forwards the sockets of each machine's tasks to here, and of all others to there."""
        asked = {}
        for host, carrier in self._carriers.items():
            ways: list[str] = []
            for number, place in enumerate(self._places):
                here, there = f"{self._own_folder}/{number}", f"{carrier.folder}/{number}"
                ways += ["-L", f"{here}:{there}"] if place == host else ["-R", f"{there}:{here}"]
            asked[host] = carrier.forward(ways)
        try:
            self._until(
                lambda: all(process.poll() is not None for process in asked.values()),
                stop,
                lambda: [host for host, process in asked.items() if process.poll() is None],
            )
        finally:
            for process in asked.values():
                end(process, 0)
        refusing = [host for host, process in asked.items() if process.returncode]
        if refusing and not stop and self.lost() is None:
            raise MoxRuntimeError(
                f"--private: ssh can't forward Unix sockets to {refusing[0]}"
                f" ({'; '.join(self._carriers[refusing[0]].last[-1:])}). Its sshd must allow them:"
                " AllowStreamLocalForwarding yes, and no DisableForwarding (OpenSSH 6.7 or later)."
            )

    def _until(
        self, condition: Callable[[], bool], stop: StopRequest, missing: Callable[[], list[str]]
    ) -> None:
        """Waits for a condition, a signal or a lost connection; the wait has a limit."""
        deadline = time.monotonic() + _OPEN_SECONDS
        while self._alive() and not condition() and not stop:
            if time.monotonic() > deadline:
                raise MoxRuntimeError(
                    f"--private: after {_OPEN_SECONDS:g} s, ssh to {_some(missing())} has not"
                    " carried the first bytes. Does `ssh HOST true` end at once?"
                )
            time.sleep(_TICK)

    def _alive(self) -> bool:
        """Whether no connection has ended.

        Raises:
            MoxRuntimeError: the other end of a connection has given up; a new start would, too.
        """
        lost = self.lost()
        if lost is not None and lost.code not in (None, LOST) and lost.code < 128:
            raise MoxRuntimeError(f"{lost.host}: {' '.join(lost.last) or f'code {lost.code}'}")
        return lost is None

    def _unanswered(self) -> list[str]:
        return [host for host, carrier in self._carriers.items() if not carrier.folder]


def _some(names: Sequence[str]) -> str:
    """Words a list of names, of which one line shows only the first."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
