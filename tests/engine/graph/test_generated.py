"""No other user has code of theirs taken for the code that AutoGraph generates."""

from __future__ import annotations

import importlib.util
import inspect
import marshal
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf2
from tensorflow.python.autograph.pyct import loader

from moxing.engine.graph import generated

NOBODY = 65_534


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A temporary folder as machines have it: everybody may write to it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        os.chmod(name, 0o1777)
        monkeypatch.setattr(tempfile, "tempdir", name)
        # A process keeps its folder: earlier tests made it elsewhere.
        monkeypatch.setattr(loader, "tempfile", generated.Rooms())
        yield Path(name)


def doubled(x: int) -> int:
    return 2 * x


def test_the_folder_is_this_user_s_alone_and_another_than_the_temporary_folder(
    shared: Path,
) -> None:
    folder = Path(inspect.getfile(tf2.autograph.to_graph(doubled))).parent
    assert folder.parent == shared
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.parent for path in shared.rglob("*.py")} == {folder}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_python_runs_no_code_that_another_user_has_put_beside_it(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the writing of a file and its import, as a watcher of the folder can."""
    mark = shared / "mark"
    mark.touch()
    forged = compile(f"open({str(mark)!r}, 'w').write('forged')", "forged.py", "exec")
    # Python checks neither the time nor the content of the source of such a file.
    content = importlib.util.MAGIC_NUMBER + b"\1\0\0\0" + bytes(8) + marshal.dumps(forged)
    named = importlib.util.spec_from_file_location
    attempts = []

    def attacked(name: str, file: str, *rest: Any) -> Any:
        if "autograph_generated" in name:
            attempts.append(planted(importlib.util.cache_from_source(file), content))
        return named(name, file, *rest)

    monkeypatch.setattr(importlib.util, "spec_from_file_location", attacked)
    tf2.autograph.to_graph(lambda x: doubled(x))
    assert attempts
    assert set(attempts) == {False}
    assert mark.read_text() == ""


def planted(path: str, content: bytes) -> bool:
    """Whether the user nobody can write a file, and its folder."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([]), os.setgid(NOBODY), os.setuid(NOBODY)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            Path(path).write_bytes(content)
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


PROGRAM = """
import os, sys
import moxing.tensorflow
import tensorflow as tf
def double(x):
    return 2 * x
tf.autograph.to_graph(double)
print(len(os.listdir(sys.argv[1])), flush=True)
child = os.fork()
if child == 0:
    tf.autograph.to_graph(lambda x: double(x))
    assert len(os.listdir(sys.argv[1])) == 2
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.slow
def test_a_process_leaves_nothing_and_removes_what_the_killed_left(tmp_path: Path) -> None:
    program, place = tmp_path / "program.py", tmp_path / "temporary"
    program.write_text(PROGRAM)
    place.mkdir()
    for _ in range(2):  # The fork leaves its folder, which the next process removes.
        done = subprocess.run(
            [sys.executable, str(program), str(place)],
            env={**os.environ, "TMPDIR": str(place)},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == ["1"]
        assert len(list(place.iterdir())) == 1
