"""A network of its own that reaches all that the machine reaches, by slirp4netns.

slirp4netns is a network stack in user space, which needs no rights but those on /dev/net/tun. It
opens the connections of the network anew from outside, and lets none in.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Collection
from io import FileIO
from pathlib import Path

from moxing.errors import MoxNotSupportedError, MoxRuntimeError
from moxing.launch.isolation import namespace
from moxing.launch.isolation.holder import Holder
from moxing.launch.lifeline import die_with
from moxing.launch.readable import has_data

ENGINE = "slirp4netns"
# Addresses in the network that slirp4netns makes: of the machine's loopback, and of its resolver.
_GATEWAY, _NAMES = "10.0.2.2", "10.0.2.3"
_READY_SECONDS, _TICK = 10.0, 0.05
_NO_CAUSE = ("WARNING", "child failed", "sent tapfd", "received tapfd")  # Lines of slirp4netns.
_RESOLVER = "/etc/resolv.conf"
_ROUTES_6 = "/proc/net/ipv6_route"


class WayOut:
    """The way out of the network that this process is in.

    Args:
        engine: the process of slirp4netns.
        said: a file with all that it says.
        holder: the process that the network was made by.
    """

    def __init__(self, engine: subprocess.Popen[bytes], said: FileIO, holder: Holder) -> None:
        self._engine, self._said, self._holder = engine, said, holder

    @property
    def ended(self) -> str:
        """The last words of slirp4netns, if it has ended; "" while it runs."""
        return "" if self._engine.poll() is None else _last(self._engine, self._said)

    def close(self) -> None:
        """Ends the way out; this process stays in the network."""
        _end(self._engine, self._said)
        self._holder.close()


def enter(option: str, reserved: Collection[int] = ()) -> WayOut:
    """Moves this process to a network of its own; nothing has changed if that fails.

    This process must have one thread.

    Args:
        option: the option of the command line that asks for it, for messages.
        reserved: ports of the new network that lead to no service of the machine.

    Raises:
        MoxNotSupportedError: slirp4netns or the kernel does not allow it; the message says why.
        MoxRuntimeError: the network has been entered, and names can't be resolved in it.
    """
    program = shutil.which(ENGINE)
    if program is None:
        raise MoxNotSupportedError(f"{ENGINE} is not installed")
    holder = Holder(option)
    try:
        engine, said = _started(program, holder.pid)
        try:
            namespace.join(holder.pid)
        except BaseException:
            _end(engine, said)
            raise
    except OSError as error:
        holder.close()
        raise MoxNotSupportedError(f"the network can't be joined: {error.strerror}") from error
    except BaseException:
        holder.close()
        raise
    try:
        _resolve_names()
    except OSError as error:
        raise MoxRuntimeError(
            f"{option}: no file can be shown in the place of {_RESOLVER} ({error.strerror}), which"
            " names a server of names on this machine's loopback."
        ) from error
    holder.lead(_GATEWAY, reserved)
    return WayOut(engine, said, holder)


def _started(program: str, pid: int) -> tuple[subprocess.Popen[bytes], FileIO]:
    """Starts slirp4netns for the network of a process, and waits until the network is set up."""
    ready, theirs = os.pipe()
    said = FileIO(os.memfd_create("slirp4netns-said"), "r+")
    more = ["--enable-ipv6"] if _has_ipv6() else []
    own = ["--configure", "--mtu=65520", f"--ready-fd={theirs}", *more]
    try:
        engine = subprocess.Popen(
            [program, *own, str(pid), "tap0"],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            pass_fds=[theirs],
            start_new_session=True,  # As the holder of the network.
            preexec_fn=die_with(os.getpid()),
        )
    except OSError as error:
        os.close(ready)
        said.close()
        raise MoxNotSupportedError(f"{program} can't be started: {error.strerror}") from error
    finally:
        os.close(theirs)
    try:
        if _is_told(ready, engine):
            return engine, said
        why = _last(engine, said)
        _end(engine, said)
        raise MoxNotSupportedError(f"{ENGINE} makes no way out here: {why}")
    finally:
        os.close(ready)


def _is_told(ready: int, engine: subprocess.Popen[bytes]) -> bool:
    """Whether slirp4netns has said that the network is set up, within the limit."""
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        if has_data(ready, _TICK):
            if os.read(ready, 1):
                return True
            with contextlib.suppress(subprocess.TimeoutExpired):
                engine.wait(_READY_SECONDS)
            return False
        if engine.poll() is not None:
            return False
    return False


def _last(engine: subprocess.Popen[bytes], said: FileIO) -> str:
    """Words the end of slirp4netns by its last line that may tell the cause."""
    said.seek(0)
    lines = map(str.strip, said.read().decode(errors="replace").split("\n"))
    told = [line for line in lines if line and not line.startswith(_NO_CAUSE)]
    text = told[-1] if told else ""
    code = engine.poll()
    return text or (f"no answer in {_READY_SECONDS:g} s" if code is None else f"code {code}")


def _end(engine: subprocess.Popen[bytes], said: FileIO) -> None:
    engine.kill()
    engine.wait()
    said.close()


def _has_ipv6() -> bool:
    """Whether this machine reaches others by IPv6: it has a default route, which is not a lock."""
    with contextlib.suppress(OSError):
        for fields in map(str.split, Path(_ROUTES_6).read_text().splitlines()):
            if int(fields[0], 16) == 0 and int(fields[1], 16) == 0 and fields[9] != "lo":
                return True
    return False


def _resolve_names() -> None:
    """Leads to slirp4netns's resolver, if the machine's own is on its loopback, as systemd's is.

    Raises:
        OSError: no other file can be shown in the place of the machine's.
    """
    try:
        lines = Path(_RESOLVER).read_text().splitlines()
    except OSError:
        return  # Names are not resolved on this machine either.
    servers = [line.split()[1:2] for line in lines if line.split()[:1] == ["nameserver"]]
    if servers and not any(_is_loopback(address) for words in servers for address in words):
        return
    others = [line for line in lines if line.split()[:1] != ["nameserver"]]
    with tempfile.NamedTemporaryFile("w", prefix="mox-resolv-") as file:
        file.write("\n".join([f"nameserver {_NAMES}", *others]) + "\n")
        file.flush()
        os.fchmod(file.fileno(), 0o644)
        namespace.replace_file(_RESOLVER, file.name)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False
