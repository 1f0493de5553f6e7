"""The `mox launch` line that answers `horovodrun`."""

from __future__ import annotations

from pathlib import Path

import pytest

from moxing.cli import horovodrun


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("-np 4 python train.py --lr 0.1", "mox launch --workers=4 train.py --lr 0.1"),
        ("-np 4 -H localhost:4 python3.7 -u t.py", "mox launch --workers=4 t.py"),
        ("-np 8 -H a:4,b:4 python t.py", "mox launch --workers=8 --hosts=a,b --ssh t.py"),
        ("--gloo -np=2 python t.py", "mox launch --workers=2 t.py"),
        ("-np 2 python -m pkg.train --lr 1", "mox launch --workers=2 -m pkg.train --lr 1"),
        ("-np 2 --hostfile=/no/such t.py", "mox launch --workers=2 --hosts=A,B --ssh t.py"),
        ("", "mox launch --workers=N train.py"),
    ],
)
def test_the_line(given: str, line: str) -> None:
    assert horovodrun.answer(given.split()) == line


def test_the_machines_of_a_host_file(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("# of the lab\na slots=2\n\nb slots=2 # slow\n")
    line = horovodrun.answer(["-np", "4", "-hostfile", str(tmp_path / "hosts"), "python", "t.py"])
    assert line == "mox launch --workers=4 --hosts=a,b --ssh t.py"


def test_nothing_is_started(capsys: pytest.CaptureFixture[str]) -> None:
    assert horovodrun.main(["-np", "2", "python", "x.py"]) == 2
    assert "mox launch --workers=2 x.py" in capsys.readouterr().err
