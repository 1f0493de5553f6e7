"""Commands that need no TensorFlow work where Linux's modules and calls are missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BLOCKED = """
import os
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in {"fcntl", "resource", "termios", "pwd", "grp", "tensorflow", "keras", "tf_keras"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
for name in ("fork", "sched_getaffinity", "unshare", "setns", "memfd_create"):
    if hasattr(os, name):
        delattr(os, name)
"""
FILES = """
import moxing.framework.file as file
file.make_dirs("folder")
file.write("folder/a.txt", "text")
assert file.read("folder/a.txt") == "text"
"""


def _python(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    # Modules that Python has imported at its start, such as for openmox.pth, are no test.
    return subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{source}"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        *(["doctor"], ["runs", "."], ["checkpoints", "."], ["legacy", "status"]),
        *(["run", "--help"], ["launch", "--help"], ["convert", "--help"], ["port", "--help"]),
        ["launch", "--emit=slurm", "--workers=2", "train.py"],
        *(["launch", f"--emit={kind}", "--image=a/b", "train.py"] for kind in ("k8s", "jobset")),
    ],
    ids=" ".join,
)
def test_a_command(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "train.py").touch()
    ends = f"from moxing.cli.main import main\nsys.exit(main({arguments!r}))\n"

    done = _python(tmp_path, BLOCKED + ends)

    assert "No module named" not in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1 if arguments[0] == "doctor" else 0)


def test_files(tmp_path: Path) -> None:
    done = _python(tmp_path, BLOCKED + FILES)

    assert done.returncode == 0, done.stderr
