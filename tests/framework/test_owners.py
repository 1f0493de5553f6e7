"""Owners are told apart where process numbers and host names are equal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from moxing.framework import owners
from moxing.framework.owners import Owner, machine, owned_folder, started, sweep

PREFIX = ".saving-"
# Makes a folder of its own, says so, and lives until its input ends.
HOLDS = f"""
import sys
from moxing.framework.owners import owned_folder
with owned_folder(sys.argv[1], "{PREFIX}") as path:
    print(path, flush=True)
    sys.stdin.read()
"""
SWEEPS = f"""
import sys
from moxing.framework.owners import sweep
sweep(sys.argv[1], "{PREFIX}", stale_seconds=3600.0)
"""


def in_container(program: str, folder: Path) -> list[str]:
    """A command that runs a program as process 1 or so of a namespace of its own."""
    unshare = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    return [*unshare, sys.executable, "-c", program, str(folder)]


def test_an_owner_is_read_back() -> None:
    me = Owner.this_process()
    assert Owner.read(str(me)) == me
    assert me.has_ended() is False


@pytest.mark.parametrize("text", ["", "17@host", "1-2-xyz", "-1-2-0123456789abcdef", "1-2"])
def test_what_names_no_owner(text: str) -> None:
    assert Owner.read(text) is None


def test_a_number_that_is_used_again_is_another_owner() -> None:
    assert Owner(os.getpid(), "1", machine()).has_ended() is True


def test_of_another_machine_nobody_knows() -> None:
    assert Owner(os.getpid(), started(os.getpid()), "0123456789abcdef").has_ended() is None


def test_a_process_that_was_killed_has_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        sweep(str(tmp_path), PREFIX)
        assert path.is_dir()
        process.kill()
    sweep(str(tmp_path), PREFIX)
    assert not path.exists()


def test_equal_numbers_in_two_containers_are_two_owners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with owned_folder(str(tmp_path), PREFIX) as path:
        monkeypatch.setattr(owners, "machine", lambda: "0123456789abcdef")
        monkeypatch.setattr(owners, "started", lambda pid: "12345")
        sweep(str(tmp_path), PREFIX, stale_seconds=3600.0)
        assert os.path.isdir(path)


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="makes namespaces as root"
)
def test_containers_do_not_remove_each_others_folders(tmp_path: Path) -> None:
    holds = in_container(HOLDS, tmp_path)
    with subprocess.Popen(holds, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as held:
        assert held.stdout is not None
        assert held.stdin is not None
        path = held.stdout.readline().strip()
        swept = subprocess.run(in_container(SWEEPS, tmp_path), capture_output=True, text=True)
        if not path:
            pytest.skip("namespaces are not permitted here")
        assert swept.returncode == 0, swept.stderr
        assert os.path.isdir(path)
        held.stdin.close()
