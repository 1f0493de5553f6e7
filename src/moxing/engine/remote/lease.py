"""A lock for a directory in an object store: an object that its owner keeps renewing."""

from __future__ import annotations

import datetime
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from moxing.engine.wording.option_names import option
from moxing.errors import MoxRuntimeError, escaped
from moxing.framework import file
from moxing.framework.owners import Owner
from moxing.logs import TENSORFLOW

NAME = ".mox.lease.json"
BEAT_SECONDS = 10.0
LIMIT_SECONDS = 90.0  # A store may be unreachable for a minute.
_LOOK_SECONDS = 1.0


class Lease:
    """The right to train in a directory of a store, for one run at a time.

    A store has no locks, so the object names the owner and changes with every beat. An owner counts
    as alive if the object changes while it is watched; clocks are never compared. If the owner was
    a process of this machine that has ended, the object need not be watched.

    Two runs that begin within the same second may both believe that they own the lease; the run
    whose object was replaced notices this at its next beat or commit, and stops.

    Args:
        directory: URL of the directory.
        lost: called once, from another thread, when another run has taken the lease.
        beat: seconds between renewals.
        limit: seconds without a change after which the owner counts as dead.
    """

    def __init__(
        self,
        directory: str,
        lost: Callable[[], None],
        beat: float = BEAT_SECONDS,
        limit: float = LIMIT_SECONDS,
    ) -> None:
        self._directory, self._url = directory, f"{directory}/{NAME}"
        self._tell, self._beat, self._limit = lost, beat, limit
        self._owner = _self() | {"nonce": secrets.token_hex(8)}
        self._beats = 0
        self._is_lost = False
        self._use = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="mox-lease", daemon=True)

    def take(self) -> None:
        """Becomes the owner; waits up to the limit to see whether a present owner is alive.

        Raises:
            MoxRuntimeError: another run is the owner; the message names it.
        """
        found = self._read()
        if found is not None:
            self._wait_for_its_end(found)
        self._write()
        self._thread.start()

    def confirm(self) -> bool:
        """Asks the store whether this run is still the owner.

        Raises:
            OSError: the store does not answer.
        """
        with self._use:
            if self._is_lost:
                return False
            found, own = self._read(), self._owner["nonce"]
            # A lease that can't be read or was removed is not another run's.
            if found is None or found.get("nonce", own) == own:
                return True
            self._is_lost = True
        TENSORFLOW.error(
            "Another run trains in %s now: %s. This one uploads nothing more.",
            self._directory,
            _who(found),
        )
        self._tell()
        return False

    def release(self) -> None:
        """Gives the lease back; if the store can't be reached, the lease ends after the limit."""
        self._stop.set()
        self._thread.join(5.0)
        with suppress(OSError):
            if self.confirm():
                file.remove(self._url)

    def _serve(self) -> None:
        while not self._stop.wait(self._beat if self._beats > 1 else min(1.0, self._beat)):
            with suppress(OSError):  # The next beat can still come in time.
                if not self.confirm():
                    return
                self._write()
                if self._stop.is_set():  # The lease was given back while the store did not answer.
                    file.remove(self._url)

    def _wait_for_its_end(self, found: dict[str, Any]) -> None:
        ended = _owner_of(found).has_ended()
        if ended is not None:
            if not ended:
                raise MoxRuntimeError(self._refusal(found))
            TENSORFLOW.info("Taking over %s from %s, which ended.", self._directory, _who(found))
            return
        TENSORFLOW.warning(
            "%s belongs to %s. Waiting up to %g s to see whether that run is alive.",
            self._directory,
            _who(found),
            self._limit,
        )
        until = time.monotonic() + self._limit
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(_LOOK_SECONDS, left))
            seen = self._read()
            if seen is None:
                return
            if seen != found:
                raise MoxRuntimeError(self._refusal(seen))
        TENSORFLOW.warning(
            "Taking over %s: %s has shown no life for %g s.",
            self._directory,
            _who(found),
            self._limit,
        )

    def _refusal(self, found: dict[str, Any]) -> str:
        return (
            f"Another run is training in {self._directory}: {_who(found)}. Wait for its end or stop"
            f" it, or give this run a {option('log_dir')} of its own."
        )

    def _read(self) -> dict[str, Any] | None:
        try:
            found = json.loads(file.read(self._url, binary=True))
        except FileNotFoundError:
            return None
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def _write(self) -> None:
        self._beats += 1
        file.write(self._url, json.dumps(self._owner | {"beat": self._beats}) + "\n")


def _self() -> dict[str, Any]:
    since = datetime.datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    owner = Owner.this_process()
    return {
        "pid": owner.pid,
        "host": socket.gethostname(),
        "since": since,
        "started": owner.started,
        "machine": owner.machine,
    }


def _owner_of(found: dict[str, Any]) -> Owner:
    """Returns the owner that a lease names; if it names none, an owner without a process."""
    pid = found.get("pid")
    known = isinstance(pid, int)
    started = str(found.get("started") or "") if known else ""
    return Owner(pid if known else 0, started, str(found.get("machine")))


def _who(found: dict[str, Any]) -> str:
    try:
        return escaped(f"process {found['pid']} on {found['host']}, since {found['since']}")
    except KeyError:
        return "a run that has not written who it is"
