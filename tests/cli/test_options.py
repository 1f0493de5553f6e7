"""A mistyped option of a subcommand is answered with the option that was probably meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from moxing.cli import convert, launch


@pytest.mark.parametrize(
    ("command", "arguments", "hint"),
    [
        (launch.main, ["--worker=2", "train.py"], "--worker. Did you mean '--workers'?"),
        (launch.main, ["--max-restarts", "2", "a.py"], "Did you mean '--max_restarts'?"),
        (convert.main, ["a", "b", "--too=tfrecord"], "--too. Did you mean '--to'?"),
        (convert.main, ["a", "b", "--to=tfrecord", "--partz=3"], "Did you mean '--parts'?"),
        (convert.main, ["a", "b", "--to=tfrecrod"], "Did you mean 'tfrecord'"),
        (launch.main, ["--emit=slrum", "train.py"], "Did you mean 'slurm'?"),
    ],
)
def test_a_mistyped_option(
    command: Callable[[Sequence[str]], int],
    arguments: list[str],
    hint: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        command(arguments)
    assert ended.value.code == 2
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--zzzz", "train.py"], ["--port=x", "train.py"], []])
def test_other_mistakes_have_no_hint(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        launch.main(arguments)
    assert "Did you mean" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "misplaced"),
    [(["train.py", "--workers=2"], True), (["--workers=2", "train.py", "--epochs=2"], False)],
)
def test_an_option_behind_the_script_is_the_program_s(
    arguments: list[str],
    misplaced: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "train.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert launch.main(["--emit=slurm", *arguments]) == 0
    told = "--workers stands behind train.py, so it is the program's"
    assert (told in capsys.readouterr().err) == misplaced
