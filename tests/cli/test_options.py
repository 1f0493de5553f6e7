"""A mistyped option of a subcommand is answered with the option that was probably meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from moxing.cli import convert, launch


@pytest.mark.parametrize(
    ("command", "arguments", "hint"),
    [
        (launch.main, ["--worker=2", "train.py"], "--worker. Did you mean '--workers'?"),
        (launch.main, ["--max-restarts", "2", "a.py"], "Did you mean '--max_restarts'?"),
        (convert.main, ["a", "b", "--too=tfrecord"], "--too. Did you mean '--to'?"),
        (convert.main, ["a", "b", "--to=tfrecord", "--partz=3"], "Did you mean '--parts'?"),
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
