"""Moves this process and all its children into a network of their own."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import struct
from pathlib import Path

from moxing.errors import MoxNotSupportedError

_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
_MS_BIND, _MS_REC, _MS_SLAVE = 0x1000, 0x4000, 0x80000
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_IFF_UP = 1
_REQUEST = "16sh22x"  # struct ifreq: a name, flags.
_SYSCTL = Path("/proc/sys")
# Settings of Linux and of distributions, and the value with which they allow no namespace.
_SETTINGS = {
    "user.max_user_namespaces": "0",
    "user.max_net_namespaces": "0",
    "kernel.unprivileged_userns_clone": "0",
    "kernel.apparmor_restrict_unprivileged_userns": "1",
}


def isolate(option: str = "--isolate") -> None:
    """Enters a new network namespace; there is no way back for this process.

    No other process can then reach the ports of the tasks, and the tasks reach nothing outside,
    object storage included. This process must have one thread.

    Args:
        option: the option of the command line that asks for it, for messages.

    Raises:
        MoxNotSupportedError: the kernel, or the container, does not allow it.
    """
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    # Root may do this directly; other users first need a user namespace, which allows it.
    if libc.unshare(_CLONE_NEWNET) != 0:
        if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
            raise _refused(option, os.strerror(ctypes.get_errno()))
        try:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        except OSError as error:
            raise _refused(option, f"{error.filename}: {error.strerror}") from error
    try:
        _loopback_up()
    except OSError as error:
        reason = f"the loopback interface: {errno.errorcode[error.errno or 0]}"
        raise _refused(option, reason) from error


def join(pid: int) -> None:
    """Enters the network of another process of this user, which has called `isolate`.

    This process must have one thread.

    Raises:
        OSError: the kernel does not allow it, or the process has ended.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for kind, flag in (("user", _CLONE_NEWUSER), ("net", _CLONE_NEWNET)):
        path = f"/proc/{pid}/ns/{kind}"
        if os.readlink(path) == os.readlink(f"/proc/self/ns/{kind}"):
            continue  # Root needs no user namespace, and nobody may enter the own one again.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _checked(libc.setns(descriptor, flag))
        finally:
            os.close(descriptor)


def replace_file(path: str, other: str) -> None:
    """Shows another file under a path, to this process and its children only.

    Call this after `isolate` or `join`, which bring the right to do so.

    Raises:
        OSError: the kernel does not allow it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _checked(libc.unshare(_CLONE_NEWNS))
    # File systems that the machine mounts later still appear here.
    _checked(libc.mount(b"none", b"/", None, _MS_REC | _MS_SLAVE, None))
    real = os.path.realpath(path)
    _checked(libc.mount(os.fsencode(other), os.fsencode(real), None, _MS_BIND, None))


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _loopback_up() -> None:
    import fcntl  # Windows has no such module.

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        answer = fcntl.ioctl(control, _SIOCGIFFLAGS, struct.pack(_REQUEST, b"lo", 0))
        _, flags = struct.unpack(_REQUEST, answer)
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack(_REQUEST, b"lo", flags | _IFF_UP))


def _refused(option: str, reason: str) -> MoxNotSupportedError:
    found = _forbidding()
    settings = f"{', '.join(found)} of sysctl" if found else "a container's own rules, as it seems"
    return MoxNotSupportedError(
        f"{option}: this kernel or container allows no network namespace here ({reason}). Run"
        f" without {option} on a private network, or let an administrator allow it: it is"
        f" forbidden by {settings}."
    )


def _forbidding() -> list[str]:
    """Returns the settings of this machine that allow no namespaces, each with its value."""
    found = []
    for name, value in _SETTINGS.items():
        with contextlib.suppress(OSError):
            if _SYSCTL.joinpath(*name.split(".")).read_text().strip() == value:
                found.append(f"{name}={value}")
    return found
