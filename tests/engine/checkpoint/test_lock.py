"""One run at a time trains in a directory, and a killed one leaves no lock."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import filelock
import pytest

from moxing.engine.checkpoint.lock import lock
from moxing.errors import MoxRuntimeError

HOLD = """
import sys, time
from moxing.engine.checkpoint.lock import lock
with lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""
END = "Wait for its end or stop it, or give this run a log_dir of its own."


def test_a_second_run_is_refused(tmp_path: Path) -> None:
    with lock(tmp_path):
        holder = json.loads((tmp_path / ".mox.lock.json").read_text())
        with pytest.raises(MoxRuntimeError) as caught, lock(str(tmp_path)):
            pass
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d", holder["since"])
    assert str(caught.value) == (
        f"Another run is training in {tmp_path}: process {os.getpid()} on {os.uname().nodename},"
        f" since {holder['since']}. {END}"
    )


def test_the_lock_ends_with_the_block(tmp_path: Path) -> None:
    with pytest.raises(KeyError), lock(tmp_path):
        raise KeyError
    with lock(tmp_path):
        pass
    assert not (tmp_path / ".mox.lock.json").exists()


@pytest.mark.parametrize("content", [None, "{", "[]"])
def test_a_holder_that_nothing_is_known_of(tmp_path: Path, content: str | None) -> None:
    with lock(tmp_path):
        holder = tmp_path / ".mox.lock.json"
        if content is None:
            holder.unlink()
        else:
            holder.write_text(content)
        with pytest.raises(MoxRuntimeError) as caught, lock(tmp_path):
            pass
    assert str(caught.value) == (
        f"Another run is training in {tmp_path}: a process that has not written who it is. {END}"
    )


def test_what_a_lock_says_of_its_holder_forges_no_line(tmp_path: Path) -> None:
    with lock(tmp_path):
        forged = {"pid": 1, "host": "h\x1b[2J\nINFO:tensorflow:forged", "since": "today"}
        (tmp_path / ".mox.lock.json").write_text(json.dumps(forged))
        with pytest.raises(MoxRuntimeError) as caught, lock(tmp_path):
            pass
    assert "process 1 on h\\x1b[2J\\nINFO:tensorflow:forged, since today" in str(caught.value)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks(
    tmp_path: Path,
    log: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", refuse)
    with lock(tmp_path):
        pass
    assert log.messages == [
        f"Can't lock {tmp_path} ([Errno {number}] {os.strerror(number)}): make sure that no other"
        " run trains in it."
    ]


def test_only_the_error_of_the_block_leaves_it_where_nothing_can_be_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: filelock.BaseFileLock) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(filelock.FileLock, "acquire", refuse)
    with pytest.raises(OSError, match="of the block"), lock(tmp_path):
        raise OSError("of the block")


@pytest.mark.slow
def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with (
            pytest.raises(MoxRuntimeError, match=f"process {process.pid} on "),
            lock(tmp_path),
        ):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (tmp_path / ".mox.lock.json").exists()
        with lock(tmp_path):
            assert json.loads((tmp_path / ".mox.lock.json").read_text())["pid"] == os.getpid()


def test_a_directory_that_was_replaced_is_not_the_one_that_was_locked(tmp_path: Path) -> None:
    directory = tmp_path / "logs"
    directory.mkdir()
    with lock(directory) as held:
        held.check()
        shutil.rmtree(directory)
        with pytest.raises(MoxRuntimeError, match="logs was removed or replaced while this run"):
            held.check()
        directory.mkdir()
        with lock(directory) as other:
            other.check()
            with pytest.raises(MoxRuntimeError):
                held.check()
            assert (directory / ".mox.lock.json").exists()


def test_a_link_in_the_place_of_the_note_does_not_lose_its_file(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("kept")
    folder = tmp_path / "log"
    folder.mkdir()
    (folder / ".mox.lock.json").symlink_to(target)

    with lock(folder):
        assert f'"pid": {os.getpid()}' in (folder / ".mox.lock.json").read_text()
    assert target.read_text() == "kept"
