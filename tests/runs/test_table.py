"""The table of runs: its order, its columns, and that nothing in it steers a terminal."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from left_records import write

from moxing.errors import MoxValueError
from moxing.runs import found, table


def _runs(tmp_path: Path) -> list[found.Run]:
    write(tmp_path / "a", {0: 3.0, 10: 1.5}, at=3000.0)
    write(tmp_path / "b", {0: 3.0, 20: 0.5}, at=1000.0)
    write(tmp_path / "c", {0: math.nan}, at=2000.0)
    return found.find([str(tmp_path)])


def _names(runs: list[found.Run]) -> str:
    return "".join(Path(run.path).name for run in runs)


@pytest.mark.parametrize(
    ("by", "descending", "order"),
    [
        (None, False, "bca"),
        ("time", True, "acb"),
        ("run", False, "abc"),
        ("loss", False, "bac"),  # Runs without the value, and with NaN, come last
        ("loss", True, "abc"),  # in either direction.
        ("step", True, "bac"),
    ],
)
def test_order(tmp_path: Path, by: str | None, descending: bool, order: str) -> None:
    assert _names(table.ordered(_runs(tmp_path), by, descending)) == order


def test_a_value_that_no_run_has_is_named_with_those_there_are(tmp_path: Path) -> None:
    runs = _runs(tmp_path)
    with pytest.raises(MoxValueError, match="Did you mean 'loss'"):
        table.ordered(runs, "los")
    with pytest.raises(MoxValueError, match="They have loss"):
        table.ordered(runs, "perplexity")


def test_columns_line_up(tmp_path: Path) -> None:
    lines = table.text(_runs(tmp_path)).splitlines()

    assert lines[0].split() == ["run", "step", "loss", "time", "ended", "end"]
    assert lines[1].split()[1:3] == ["10", "1.500"]
    column = lines[0].index("end", lines[0].index("ended") + 5)
    assert [line[column:] for line in lines] == ["end", *["finished"] * 3]


def test_values_may_be_chosen(tmp_path: Path) -> None:
    assert "loss" not in table.text(_runs(tmp_path), ["accuracy"])


def test_an_error_stands_in_its_line_without_control_characters(tmp_path: Path) -> None:
    write(tmp_path / "run", {0: 1.0}, end="failed", error="MoxValueError: \x1b[31mred\nforged")

    lines = table.text(found.find([str(tmp_path)])).splitlines()

    assert len(lines) == 2
    assert lines[1].endswith(r"failed: MoxValueError: \x1b[31mred\nforged")


def test_json_is_standard(tmp_path: Path) -> None:
    def refuse(text: str) -> None:
        raise AssertionError(text)

    told = json.loads(table.as_json(_runs(tmp_path)), parse_constant=refuse)

    assert [one["values"]["loss"] for one in told] == [1.5, 0.5, "nan"]
