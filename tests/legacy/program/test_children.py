"""Processes of the user's Python files run under `mox run`; all others stay as they are."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from moxing.legacy.program import children

PREFIX = ["-P", "-m", "moxing", "run"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text("import tensorflow as tf\ntf.placeholder\n")
    (tmp_path / "plain.py").write_text("import json\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "train.py").write_text("import tensorflow as tf\ntf.Session()\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(args: Sequence[object], cwd: object = None) -> list[str] | None:
    changed = children.command(
        args, lambda path: not re.search("site-packages|src/moxing", path), [], cwd
    )
    return changed[0] if changed else None


def test_programs_of_the_user_run_under_mox(folder: Path) -> None:
    python = sys.executable

    assert command([python, "train.py", "--x=1"]) == [python, *PREFIX, "train.py", "--x=1"]
    assert command([python, "-u", "-W", "ignore", folder / "train.py"]) == [
        *(python, "-u", "-W", "ignore", *PREFIX, str(folder / "train.py"))
    ]
    assert command((python, "-m", "package.train", "-m")) == [
        *(python, *PREFIX, "-m", "package.train", "-m")
    ]
    assert command([python, "train.py"], folder / "package") == [python, *PREFIX, "train.py"]
    named = children.command([python, "train.py"], lambda path: True, ["tensorlayer"])
    assert named == ([python, *PREFIX, "--face=tensorlayer", "train.py"], "train.py")


def test_the_same_python_by_another_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bin").mkdir()
    (folder / "bin" / "python3").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(folder / "bin"), prepend=os.pathsep)

    assert command(["python3", "train.py"]) == ["python3", *PREFIX, "train.py"]


@pytest.mark.parametrize(
    "text",
    [
        "import numpy as np\nnp.float(3)\n",
        "from scipy import misc\n",
        "import gym\ngym.make('CartPole-v0')\n",
        "import pickle, sys\npickle.load(sys.stdin.buffer)()\n",
        "import importlib\nimportlib.import_module('train')\n",
    ],
)
def test_whatever_sees_other_modules_under_mox_or_loads_them(folder: Path, text: str) -> None:
    (folder / "part.py").write_text(text)
    assert command([sys.executable, "part.py"]) == [sys.executable, *PREFIX, "part.py"]


def test_a_script_without_an_ending(folder: Path) -> None:
    (folder / "trainer").write_text("#!/usr/bin/env python\nimport tensorflow as tf\ntf.Session\n")
    (folder / "notes").write_text("import tensorflow is what to do\n")
    (folder / "data.txt").write_text("import tensorflow\ntensorflow.Session\n")
    assert command([sys.executable, "trainer"]) == [sys.executable, *PREFIX, "trainer"]
    assert command([sys.executable, "notes"]) is None
    assert command([sys.executable, "data.txt"]) is None


def test_everything_else_stays(folder: Path) -> None:
    python = sys.executable
    library = folder / "site-packages"
    library.mkdir()
    (library / "train.py").write_text("import tensorflow\n")

    for args in (
        ["ls", "train.py"],
        [python, "plain.py"],
        [python, "none.py"],
        [python, "-c", "import tensorflow"],
        [python, "-m", "pip", "list"],
        [python, "-m", "moxing", "run", "train.py"],
        [python, str(library / "train.py")],
        [python],
        [],
    ):
        assert command(args) is None, args


def test_a_process_that_a_shell_started_starts_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda path, words: started.append([path, *words]))
    monkeypatch.setenv("MOX_RUN_CHILDREN", "not this terminal,tensorlayer")

    children.take_over(["python", "-u", "train.py", "--x"])
    children.take_over(["python", "plain.py"])
    children.take_over(["python", *PREFIX, "train.py"])

    python = sys.executable
    assert started == [[python, python, "-u", *PREFIX, "--face=tensorlayer", "train.py", "--x"]]
    assert capsys.readouterr().err == ""


def test_a_file_that_only_python_2_parses_is_a_program_too(folder: Path) -> None:
    (folder / "old.py").write_text("print 'no library', 7 / 2\n")
    assert command([sys.executable, "old.py"]) == [sys.executable, *PREFIX, "old.py"]
