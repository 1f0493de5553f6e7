"""URLs given to Python's own functions without `shift`: told of at once and at the end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

START = "import os, sys, glob, pickle, pathlib, shutil\nimport moxing.framework.file as file\n"
FIRST = "takes the URL for a path on this machine. Use mox.file (such as mox.file.File instead of"
LAST = " call(s) took URLs of an object store for paths on this machine, the first was "


def run(folder: Path, source: str) -> tuple[str, list[str]]:
    """Output and lines on standard error of a program that must end well."""
    (folder / "program.py").write_text(START + source)
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.splitlines()


@pytest.mark.parametrize(
    ("source", "call"),
    [
        (
            "os.makedirs('s3://b/out'); open('s3://b/out/y', 'w').close()\n",
            "os.path.exists('s3://b",
        ),
        ("print(list(os.walk('s3://b/data')))\n", "os.scandir('s3://b/data')"),
        ("print(glob.glob('obs://b/*.txt'))\n", "glob.glob('obs://b/*.txt')"),
        ("print(os.path.isdir('S3://b'))\n", "os.path.isdir('S3://b')"),
        ("os.mkdir('s3:'); open('s3:/x', 'ab').close()\n", "open('s3:/x')"),
        ("os.mkdir('s3:'); pathlib.Path('s3://x').write_text('1')\n", "open('s3:/x')"),
    ],
)
def test_the_first_call_and_the_end(tmp_path: Path, source: str, call: str) -> None:
    _, lines = run(tmp_path, source)

    assert call in lines[0]
    assert FIRST in lines[0]
    assert len(lines) == 2
    assert LAST in lines[1]
    assert call in lines[1]
    assert ("files that were written are in s3: in " in lines[1]) == (tmp_path / "s3:").is_dir()


def test_nothing_is_said_of_local_paths_errors_and_shifted_calls(tmp_path: Path) -> None:
    out, lines = run(
        tmp_path,
        "os.makedirs('a/b'); open('a/b/c', 'w').close(); print(os.path.exists('a/b/c'))\n"
        "list(os.walk('.')); glob.glob('*')\n"
        "try:\n    open('s3://b/x')\nexcept FileNotFoundError:\n    print('an error')\n"
        "assert pickle.loads(pickle.dumps(os.path.exists)) is os.path.exists\n"
        "file.shift('os', 'mox')\n"
        "try:\n    os.path.exists(5.5)\nexcept TypeError:\n    print('wrong type')\n"
        "file.shift('mox', 'os')\n",
    )

    assert lines == []
    assert out == "True\nan error\nwrong type\n"


def test_the_line_is_the_programs(tmp_path: Path) -> None:
    _, lines = run(tmp_path, "\nos.makedirs(\n    's3://b/out')\n")

    assert f"({tmp_path / 'program.py'}:4)" in lines[0]
