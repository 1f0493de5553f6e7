"""`mox runs` and `mox compare`, from the command line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from moxing.cli import main as command
from moxing.engine.reporting.records import line
from moxing.engine.reporting.records.line import Line
from moxing.engine.wording.record_files import METRICS


def _run(folder: Path, loss: float) -> str:
    folder.mkdir(parents=True)
    (folder / METRICS).write_bytes(line.encode(Line(line.TRAIN, 7, {"loss": loss}, time=1000.0)))
    return str(folder)


def test_runs_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _run(tmp_path / "b", 2.0)
    _run(tmp_path / "a", 1.0)

    assert command.main(["runs", str(tmp_path), "--sort=loss", "--reverse"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["run", f"{tmp_path}/b", f"{tmp_path}/a"]
    assert lines[1].split()[1:3] == ["7", "2.000"]


def test_no_runs_are_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["runs", str(tmp_path)]) == 0
    assert "no runs below" in capsys.readouterr().err


def test_a_page_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    runs = [_run(tmp_path / "a", 1.0), _run(tmp_path / "b", 2.0)]

    assert command.main(["compare", *runs, f"--to={page}"]) == 0

    assert "2 runs compared" in page.read_text()
    assert str(page) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["runs", "NOWHERE"], "There is no folder"),
        (["runs", "RUN", "--sort=lass"], "Did you mean 'loss'?"),
        (["compare", "RUN"], "1 run given"),
        (["compare", "RUN", "NOWHERE"], "holds no records of a run"),
        (["compare", "RUN", "OTHER", "--to=NOWHERE/page.html"], "cannot write"),
        (["compare", "RUN", "RUN"], "is given twice"),
    ],
)
def test_mistakes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    run = _run(tmp_path / "run", 1.0)
    other = _run(tmp_path / "other", 1.0)
    places = {"RUN": run, "OTHER": other, "NOWHERE": str(tmp_path / "nowhere")}
    given = [
        places.get(argument, argument)
        for argument in (text.replace("=NOWHERE", f"={places['NOWHERE']}") for text in arguments)
    ]

    assert command.main(given) == 1

    error = capsys.readouterr().err
    assert error.startswith("mox: error: ")
    assert words in error


@pytest.mark.parametrize("kind", ["folder", "loop", "pipe", "device"])
@pytest.mark.parametrize("name", [METRICS, "run.json"])
def test_what_is_in_the_place_of_records_hides_no_other_run(
    kind: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(tmp_path / "sound", 1.0)
    path = tmp_path / "strange" / name
    path.parent.mkdir()
    if kind == "folder":
        path.mkdir()
        (path.parent / (METRICS if name != METRICS else "run.json")).write_text("{}")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path.name if kind == "loop" else "/dev/zero")

    assert command.main(["runs", str(tmp_path)]) == 0
    listed = capsys.readouterr().out
    assert f"{tmp_path}/sound" in listed
    assert "unreadable: " in listed

    assert command.main(["compare", str(path.parent), "--to", str(tmp_path / "page.html")]) == 1
    assert capsys.readouterr().err.startswith(f"mox: error: {path} ")
