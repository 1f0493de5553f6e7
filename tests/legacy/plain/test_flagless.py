"""Programs of which no file can read the command line are told from all others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import warm

from moxing.legacy.plain.flagless import is_flagless

FLAGLESS = "import beside\nimport moxing.tensorflow as mox\nprint('ran')\n"


@pytest.mark.parametrize(
    ("beside", "flagless"),
    [
        ("x = 1  # sys.argv", True),
        ("text = '--flags'", True),
        ("import sys; print(sys.argv)", False),
        ("from sys import argv", False),
        ("import argparse", False),
        ("import tensorflow as tf; tf.app.run()", False),
        ("import tensorflow as tf; tf.flags.DEFINE_string('a', '', '')", False),
        ("from absl.flags import FLAGS", False),
        ("import click", False),
        ("exec(open('more').read())", False),
        ("import importlib; importlib.import_module(name)", False),
    ],
)
def test_every_file_of_the_program_counts(beside: str, flagless: bool, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text(beside)
    script = tmp_path / "train.py"
    script.write_text(FLAGLESS)
    assert is_flagless(str(script)) == flagless


@pytest.mark.slow
@pytest.mark.parametrize(
    ("argument", "code", "said"),
    [
        ("--num_gpuss=2", 2, "flag --num_gpuss is not defined. Did you mean --num_gpus?"),
        ("--help", 0, "train.py reads no flags; `mox run --help` lists those of openmox."),
        ("--mine=2", 0, "ignored flags that the script does not define: --mine"),
    ],
)
def test_its_arguments_are_checked_before_it_runs(
    argument: str, code: int, said: str, tmp_path: Path
) -> None:
    (tmp_path / "beside.py").write_text("x = 1")
    (tmp_path / "train.py").write_text(FLAGLESS)
    done = warm.run(
        [sys.executable, "-m", "moxing", "run", "train.py", argument],
        cwd=tmp_path,
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == code, done.stdout
    assert said in done.stdout
    assert ("ran" in done.stdout) == (argument == "--mine=2")
