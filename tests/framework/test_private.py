"""Nobody else's files are taken for this user's."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from moxing.errors import MoxRuntimeError
from moxing.framework import private
from moxing.tensorflow.datasets import storage


def test_it_is_made_for_this_user_alone_and_found_again(tmp_path: Path) -> None:
    path = private.folder(str(tmp_path), "copies")

    assert path == f"{tmp_path}/copies-{os.geteuid()}"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    assert private.folder(str(tmp_path), "copies") == path


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("link", "it is no folder"),
        ("file", "it is no folder"),
        ("open", "its mode 0777 lets others write to it"),
        ("foreign", f"it belongs to the user with the number {os.geteuid()}"),
    ],
)
def test_what_another_user_may_have_made_is_refused(
    kind: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "foreign":  # To another user, what this one has made.
        another = os.geteuid() + 1
        monkeypatch.setattr(os, "geteuid", lambda: another)
    path = tmp_path / f"moxing-datasets-{os.geteuid()}"
    if kind == "link":
        (tmp_path / "theirs").mkdir()
        path.symlink_to(tmp_path / "theirs")
    elif kind == "file":
        path.touch()
    else:
        path.mkdir()
        path.chmod(0o777 if kind == "open" else 0o700)
    monkeypatch.setenv("MOX_FILE_CACHE_DIR", str(tmp_path))

    with pytest.raises(MoxRuntimeError) as told:
        storage.copies(None)

    assert str(told.value) == (
        f"{path} can't be trusted: {problem}. Remove it, or name another place for copies with"
        " MOX_FILE_CACHE_DIR."
    )


PLANT = """
import os, pathlib, sys
parent, victim = sys.argv[1:]
from moxing.framework import private
os.setgroups([]), os.setgid(65534), os.setuid(65534)
own = private.folder(parent, "moxing-datasets")
print(own, oct(os.stat(own).st_mode & 0o777))
try:
    os.listdir(f"{parent}/{victim}-0")
except PermissionError:
    print("not read")
os.mkdir(f"{parent}/planted-0")
pathlib.Path(f"{parent}/planted-0/records").write_text("forged")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_what_nobody_prepares_is_not_taken_by_root_and_the_other_way_round() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as parent:
        os.chmod(parent, 0o1777)
        mine = private.folder(parent, "moxing-datasets")
        done = subprocess.run(
            [sys.executable, "-c", PLANT, parent, "moxing-datasets"],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        theirs = f"{parent}/moxing-datasets-65534"
        assert done.stdout.splitlines() == [f"{theirs} 0o700", "not read"], done.stderr
        assert private.folder(parent, "moxing-datasets") == mine != theirs
        with pytest.raises(MoxRuntimeError, match="belongs to the user with the number 65534"):
            private.folder(parent, "planted")


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o700])
def test_a_link_is_followed_in_a_folder_of_this_user_alone(mode: int, tmp_path: Path) -> None:
    folder, target = tmp_path / "folder", tmp_path / "target"
    folder.mkdir()
    folder.chmod(mode)
    target.write_text("theirs\n")
    (folder / "link").symlink_to(target)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND

    if mode == 0o700:
        os.close(private.open_to_write(str(folder / "link"), flags))
    else:
        with pytest.raises(OSError, match="is a link, which others may have made: remove it"):
            private.open_to_write(str(folder / "link"), flags)
    os.close(private.open_to_write(str(folder / "file"), flags))
    assert target.read_text() == "theirs\n"


def test_a_pipe_in_the_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"):  # Nobody reads from it.
        private.open_to_write(str(tmp_path / "pipe"), os.O_WRONLY)
