"""Ports of this machine that nothing listens on, and that no other launch has chosen."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import tempfile

from moxing.cluster.rendezvous.ports import is_free
from moxing.errors import MoxRuntimeError
from moxing.framework import private

# Below the ports that Linux gives to outgoing connections, which could take one meanwhile.
_PORTS = range(20000, 32768)


def free_ports(count: int) -> list[int]:
    """Returns ports that nothing listens on, on any interface.

    Until this process ends no other process of this user gets one of these ports here: the tasks
    of a launch open their ports only seconds after the ports were chosen.

    Args:
        count: how many ports.

    Raises:
        MoxRuntimeError: too few ports are free.
    """
    found: list[int] = []
    for port in random.SystemRandom().sample(_PORTS, len(_PORTS)):
        if len(found) == count:
            break
        if is_free(port) and _is_kept(port):
            found.append(port)
    if len(found) < count:
        raise MoxRuntimeError(
            f"{count} ports are needed, but only {len(found)} from {_PORTS.start} to"
            f" {_PORTS.stop - 1} are free."
        )
    return found


def _is_kept(port: int) -> bool:
    """Locks the port's byte of a file that all launches share; False: another process holds it."""
    file = _locks()
    if file is None:
        return True
    import fcntl  # Windows has no such module.

    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


@functools.cache
def _locks() -> int | None:
    """Returns the file of locks, which stays open: closing it would give up all locks.

    None: the machine has no place for such a file. Ports are then chosen without locks; if another
    process takes a port first, the error of the task that opens it names the port.
    """
    with contextlib.suppress(OSError, MoxRuntimeError):
        folder = private.folder(tempfile.gettempdir(), "moxing-ports")
        return os.open(os.path.join(folder, "locks"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    return None
