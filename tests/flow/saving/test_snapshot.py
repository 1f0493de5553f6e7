"""What a killed save leaves is removed by the next save of that name, and nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import CheckpointError
from moxing.flow.runtime import session
from moxing.flow.saving import snapshot
from moxing.framework.owners import Owner, machine, started


def _left(folder: Path, name: str, pid: int) -> Path:
    owner = Owner(pid, started(pid) or "1", machine())
    path = folder / f".{name}.saving-{owner}.x{pid}"
    (path / "w").mkdir(parents=True)
    (path / "w" / "out").write_bytes(bytes(100))
    return path


def test_a_save_removes_what_dead_processes_left_of_that_name(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait(240)
    gone = _left(tmp_path, "a", dead.pid)
    kept = [_left(tmp_path, "b", dead.pid), _left(tmp_path, "a", os.getppid())]
    (tmp_path / ".a.saving-of-mine").mkdir()

    snapshot.write(str(tmp_path / "a"), [("w", np.ones(2, np.float32))])

    assert not gone.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["a", ".a.saving-of-mine", *(path.name for path in kept)]
    )
    assert (tmp_path / "a" / "w" / "out").read_bytes() == np.ones(2, "<f4").tobytes()


@pytest.mark.slow
def test_a_save_that_is_killed_is_such_a_leftover(tmp_path: Path) -> None:
    """The process ends itself inside the save, behind the first variable."""
    program = (
        "import os, sys, numpy as np\n"
        "from moxing.flow.saving import snapshot\n"
        "def values():\n"
        "    yield 'v', np.ones(2)\n"
        "    os.kill(os.getpid(), 9)\n"
        "snapshot.write(sys.argv[1], values())\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "a")], timeout=300)
    assert done.returncode == -9
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".a.saving-")
    assert (left / "v" / "out").exists()

    snapshot.write(str(tmp_path / "a"), [("w", np.ones(2, np.float32))])

    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("change", [lambda b: b[:-1] + b"\1", lambda b: b[:4], lambda b: b + b[:4]])
def test_values_that_are_not_those_that_were_saved_are_refused(
    tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    folder = str(tmp_path / "one")
    snapshot.write(folder, [("w/a", np.zeros(3, np.float32)), ("b", np.ones((), np.int64))])
    snapshot.verify(folder, ["w/a", "b", "not there"], folder)
    out = tmp_path / "one" / "w" / "a" / "out"
    out.write_bytes(change(out.read_bytes()))

    snapshot.verify(folder, ["b"], folder)
    with pytest.raises(CheckpointError) as caught:
        snapshot.verify(folder, ["b", "w/a"], folder)

    assert str(caught.value) == (
        f"checkpoint {folder} is damaged: the values of w/a are not those that were saved. If you"
        f" replaced them, delete {folder}/.digests.json."
    )
    (tmp_path / "one" / ".digests.json").write_bytes(b"[" * 100_000)
    with pytest.raises(CheckpointError, match=r"its \.digests\.json can't be read"):
        snapshot.verify(folder, ["b"], folder)
    (tmp_path / "one" / ".digests.json").unlink()
    snapshot.verify(folder, ["w/a"], folder)


def test_many_variables_are_saved_and_loaded_in_few_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TensorFlow prunes the whole graph for each new set of operations."""

    @flow.function
    def job() -> Any:
        start = flow.random_uniform_initializer()
        return flow.concat(
            [flow.get_variable(f"v{i}", (2,), initializer=start) for i in range(130)], 0
        )

    point, calls = flow.train.CheckPoint(), list[Any]()
    point.init()
    native = session.default().native
    assert native is not None
    run = native.run

    def counted(*given: Any, **more: Any) -> Any:
        calls.append(given)
        return run(*given, **more)

    monkeypatch.setattr(native, "run", counted)
    before = job().get()
    calls.clear()

    point.save(str(tmp_path / "a"))
    assert len(calls) == 3  # 64, 64 and 2 variables.
    point.load(str(tmp_path / "a"))
    assert len(calls) <= 3 + 3 + 2  # Others give first values to none, and share.
    np.testing.assert_array_equal(job().get(), before)


@pytest.mark.parametrize("starting", [True, False])
def test_a_save_ends_well_as_python_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, starting: bool
) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    # What the interpreter's end sets first; Python 3.12 then starts no threads either.
    monkeypatch.setattr("concurrent.futures.thread._shutdown", True)
    if not starting:
        monkeypatch.setattr(threading.Thread, "start", refused)
    values = {f"v{number}": np.full(3, number, np.float32) for number in range(40)}

    snapshot.write(str(tmp_path / "saved"), values.items())

    assert sorted(snapshot.names(str(tmp_path / "saved"))) == sorted(values)


@pytest.mark.parametrize("name", ["sync", "sync_directory"])
def test_an_error_of_the_disk_while_values_are_synced_ends_the_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def full(_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(snapshot.durable, name, full)

    with pytest.raises(CheckpointError, match="cannot save .*: No space left on device"):
        snapshot.write(str(tmp_path / "saved"), [("v", np.ones(3, np.float32))])
    assert not os.listdir(tmp_path)
