"""Moves this process and all its children into a network of their own: loopback only."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
from pathlib import Path

from moxing.errors import MoxNotSupportedError

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_IFF_UP = 1
_REQUEST = "16sh22x"  # struct ifreq: a name, flags.


def isolate() -> None:
    """Enters a new network namespace; there is no way back for this process.

    No other process can then reach the ports of the tasks, and the tasks reach nothing outside,
    object storage included. This process must have one thread.

    Raises:
        MoxNotSupportedError: the kernel, or the container, does not allow it.
    """
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    # Root may do this directly; other users first need a user namespace, which allows it.
    if libc.unshare(_CLONE_NEWNET) != 0:
        if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
            raise _refused(os.strerror(ctypes.get_errno()))
        try:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        except OSError as error:
            raise _refused(f"{error.filename}: {error.strerror}") from error
    try:
        _loopback_up()
    except OSError as error:
        raise _refused(f"the loopback interface: {errno.errorcode[error.errno or 0]}") from error


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        answer = fcntl.ioctl(control, _SIOCGIFFLAGS, struct.pack(_REQUEST, b"lo", 0))
        _, flags = struct.unpack(_REQUEST, answer)
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack(_REQUEST, b"lo", flags | _IFF_UP))


def _refused(reason: str) -> MoxNotSupportedError:
    return MoxNotSupportedError(
        f"--isolate: this kernel or container allows no network namespace here ({reason}). Run"
        " without --isolate on a private network, or let an administrator allow it"
        " (sysctl user.max_net_namespaces, kernel.unprivileged_userns_clone)."
    )
