"""The page that shows runs side by side."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from left_records import write

from moxing.errors import MoxValueError
from moxing.runs import comparison, found


def _two(tmp_path: Path) -> list[found.Run]:
    write(tmp_path / "runs" / "a", {0: 3.0, 10: 1.5}, flags={"--seed": 1, "--num_gpus": 2})
    write(tmp_path / "runs" / "b<i>", {0: 3.0, 20: 0.5}, flags={"--seed": 2, "--num_gpus": 2})
    return found.find([str(tmp_path)])


def test_only_settings_that_differ_are_shown(tmp_path: Path) -> None:
    runs = _two(tmp_path)

    assert comparison.different(runs) == {"--seed": [1, 2]}
    assert "--num_gpus" not in comparison.page(runs)


def test_flags_of_the_programs_own_are_settings(tmp_path: Path) -> None:
    for name, rate in (("a", 0.1), ("b", 0.2)):
        folder = write(tmp_path / name, {0: 3.0})
        facts = json.loads((folder / "run.json").read_text())
        facts["program"] = {"script": "train.py", "flags": {"rate": rate, "size": 3}}
        (folder / "run.json").write_text(json.dumps(facts))

    runs = found.find([str(tmp_path)])

    assert comparison.different(runs) == {"--rate": [0.1, 0.2]}


@pytest.mark.parametrize("program", [None, 7, [], "x", {"flags": 7}, {"flags": None}], ids=repr)
def test_records_with_other_programs_are_read(tmp_path: Path, program: object) -> None:
    folder = write(tmp_path / "a", {0: 3.0})
    facts = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**facts, "program": program}))

    (run,) = found.find([str(tmp_path)])

    assert run.settings == facts["job"]


def test_curves_of_a_value_share_a_chart(tmp_path: Path) -> None:
    page = comparison.page(_two(tmp_path))

    (found_json,) = re.findall(r'<script type="application/json">(.*?)</script>', page)
    curves = json.loads(found_json)["curves"]
    assert [(c["name"], c["steps"], c["values"], c["kind"]) for c in curves] == [
        ("a", [0, 10], [3.0, 1.5], "a"),
        ("b<i>", [0, 20], [3.0, 0.5], "b"),
    ]
    assert "<i>" not in page  # Names are text.


def test_every_color_has_a_style(tmp_path: Path) -> None:
    for number in range(len(comparison.COLORS)):
        write(tmp_path / str(number), {0: 1.0, 1: float(number)})

    page = comparison.page(found.find([str(tmp_path)]))

    for letter in comparison.COLORS:
        assert f"path.{letter} {{ stroke: var(--{letter})" in page
        assert page.count(f"--{letter}: #") == 2  # For light and for dark pages.


def test_labels_leave_out_the_shared_folders(tmp_path: Path) -> None:
    write(tmp_path / "x" / "one" / "run", {0: 1.0})
    write(tmp_path / "x" / "two" / "run", {0: 1.0})

    assert comparison.labels(found.find([str(tmp_path)])) == ["one/run", "two/run"]


@pytest.mark.parametrize("count", [0, 1, 9])
def test_too_few_and_too_many_runs(tmp_path: Path, count: int) -> None:
    for number in range(count):
        write(tmp_path / str(number), {0: 1.0})

    with pytest.raises(MoxValueError, match=f"{count} runs? given"):
        comparison.page(found.find([str(tmp_path)]))


def test_a_run_is_not_compared_with_itself(tmp_path: Path) -> None:
    one, other = _two(tmp_path)
    with pytest.raises(MoxValueError) as raised:
        comparison.page([one, other, found.read(f"{one.path}/")])
    assert str(raised.value) == f"The run {one.path}/ is given twice. Name each run once."
