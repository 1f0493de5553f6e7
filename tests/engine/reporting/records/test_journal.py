"""metrics.jsonl has whole lines, each step once, whatever ended the runs before."""

from __future__ import annotations

import gc
import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from moxing.engine.reporting.records import history, journal, line
from moxing.engine.reporting.records.journal import Journal
from moxing.engine.reporting.records.line import EVAL, INTER, TRAIN, Line
from moxing.engine.wording.record_files import METRICS


def _write(folder: Path, lines: list[Line], resumed_at: int | None = None) -> None:
    written = Journal(str(folder), clock=lambda: 1000.0)
    written.start(resumed_at)
    for one in lines:
        written.write(one)
    written.close()


def _steps(folder: Path) -> list[tuple[str, int]]:
    texts = (folder / "metrics.jsonl").read_text().splitlines()
    return [(one["kind"], one["global_step"]) for one in map(json.loads, texts)]


def test_a_line_is_standard_json_and_is_read_back() -> None:
    values = {"loss": 0.1, "nan": math.nan, "up": math.inf, "down": -math.inf, 'a"<b>\n': 1.0}
    told = Line(INTER, 31, values, {"samples": 320, "seconds": 0.25}, "[VALIDATION]", 12.3456)
    text = line.encode(told)

    def refuse(name: str) -> Any:
        raise AssertionError(f"{name} is no JSON")

    fields = json.loads(text, parse_constant=refuse)
    assert text.count(b"\n") == 1
    assert fields == {
        "kind": "validation",
        "global_step": 31,
        "name": "[VALIDATION]",
        "time": 12.346,
        "samples": 320,
        "seconds": 0.25,
        "values": {
            "loss": 0.1,
            "nan": "NaN",
            "up": "Infinity",
            "down": "-Infinity",
            'a"<b>\n': 1.0,
        },
    }
    read = line.decode(text)
    assert read is not None
    assert math.isnan(read.values["nan"])
    assert {**read.values, "nan": 0.0} == {**values, "nan": 0.0}
    assert (read.kind, read.step, read.name, read.facts) == (INTER, 31, told.name, told.facts)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"3",
        b"{}",
        b'{"kind": "train", "global_step": 1.5, "values": {}}',
        b'{"kind": "train", "global_step": true, "values": {}}',
        b'{"kind": "other", "global_step": 1, "values": {}}',
        b'{"kind": "train", "global_step": 1, "values": {"a": "b"}}',
        b'{"kind": "train", "global_step": 1, "values": {"a": null}}',
        b'{"kind": "train", "global_step": 1, "values": [1]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_line_is_not_read(text: bytes) -> None:
    gc.disable()  # Finalizers of other tests would run out of stack in the deepest of these.
    try:
        assert line.decode(text) is None
    finally:
        gc.enable()


def test_a_resumed_run_repeats_no_step(tmp_path: Path) -> None:
    first = [Line(TRAIN, 0, {}), Line(TRAIN, 10, {}), Line(INTER, 20, {}), Line(TRAIN, 20, {})]
    later = [Line(EVAL, 20, {}), Line(INTER, 25, {}), Line(TRAIN, 30, {}), Line(EVAL, 99, {})]
    _write(tmp_path, first + later)
    _write(tmp_path, [Line(TRAIN, 20, {}), Line(INTER, 25, {})], resumed_at=20)
    assert _steps(tmp_path) == [
        ("train", 0),
        ("train", 10),
        ("validation", 20),
        ("evaluation", 20),
        ("evaluation", 99),
        ("train", 20),
        ("validation", 25),
    ]


def test_nothing_is_rewritten_where_nothing_comes_again(tmp_path: Path) -> None:
    _write(tmp_path, [Line(TRAIN, 0, {})])
    inode = os.stat(tmp_path / "metrics.jsonl").st_ino
    _write(tmp_path, [Line(TRAIN, 10, {})], resumed_at=10)
    assert os.stat(tmp_path / "metrics.jsonl").st_ino == inode
    assert _steps(tmp_path) == [("train", 0), ("train", 10)]


@pytest.mark.parametrize("resumed_at", [None, 20])
def test_a_half_line_is_cut_off_at_every_byte(tmp_path: Path, resumed_at: int | None) -> None:
    _write(tmp_path, [Line(TRAIN, 0, {"loss": 1.0}), Line(TRAIN, 10, {"loss": 2.0})])
    path = tmp_path / "metrics.jsonl"
    whole = path.read_bytes()
    end_of_first = whole.index(b"\n") + 1
    for size in range(end_of_first, len(whole)):
        path.write_bytes(whole[:size])
        assert len(history.read(str(tmp_path)).curves["loss"]) == 1
        _write(tmp_path, [Line(TRAIN, 20, {})], resumed_at)
        assert _steps(tmp_path) == [("train", 0), ("train", 20)]


def test_lines_of_other_writers_stay(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"note": "mine"}\n')
    _write(tmp_path, [Line(TRAIN, 5, {"loss": 1.0})], resumed_at=0)
    assert (tmp_path / "metrics.jsonl").read_text().startswith('{"note": "mine"}\n')
    read = history.read(str(tmp_path))
    assert (read.unread, len(read.curves["loss"])) == (1, 1)


def test_a_directory_that_cannot_be_written_costs_the_lines_only(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    _write(tmp_path / "file" / "inside", [Line(TRAIN, 0, {})], resumed_at=0)
    assert [record.getMessage() for record in log.records] == [
        f"Metrics can't be written to {tmp_path}/file/inside (Not a directory). The run goes on"
        " without them."
    ]


def test_a_disk_that_fills_up_is_told_once(
    tmp_path: Path, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    written = Journal(str(tmp_path))
    written.start(0)
    monkeypatch.setattr(journal.os, "write", full)
    for step in range(3):
        written.write(Line(TRAIN, step, {}))
    assert len(log.records) == 1
    assert not written.open


def test_lines_that_are_too_long_deep_or_large_are_passed_over(tmp_path: Path) -> None:
    good = line.encode(Line(TRAIN, 3, {"loss": 1.0}))
    head = b'{"kind": "train", "global_step": 1, "values": '
    bad = [
        head + b'{"' + b"x" * 3_000_000 + b'": 1}}',
        head + b"[" * 60_000 + b"]" * 60_000 + b"}",
        head + b'{"loss": ' + b"9" * 4000 + b"}}",  # No float is so large.
        head + b'{"loss": ' + b"9" * 5000 + b"}}",  # No int is read from so many digits.
    ]
    (tmp_path / "metrics.jsonl").write_bytes(b"".join(good + one + b"\n" for one in bad) + good)
    found = history.read(str(tmp_path))
    assert (list(found.curves["loss"].values), found.unread) == ([1.0] * 5, 4)
    assert history.of_lines([bad[0] + b"\n", good]).unread == 1


@pytest.mark.parametrize("resumed_at", [None, 0])
def test_a_link_of_another_user_is_neither_written_nor_copied(
    resumed_at: int | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, target = tmp_path / "shared", tmp_path / "private"
    folder.mkdir()
    folder.chmod(0o777)
    target.write_bytes(b"first\nunfinished")
    (folder / METRICS).symlink_to(target)

    journal = Journal(str(folder))
    journal.start(resumed_at)
    journal.write(Line(TRAIN, 1, {"loss": 1.0}))
    journal.close()

    assert target.read_bytes() == b"first\nunfinished"
    assert (folder / METRICS).is_symlink()
    assert "it is a link, which others may have made" in caplog.text
