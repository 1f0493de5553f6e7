"""Every feature of the page that openmox has names a test that there is."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "features.md"


def test_rows_name_tests_or_say_not_yet() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    assert len(rows[2:]) == 26
    for feature, answer, test in rows[2:]:
        assert answer.startswith("not yet") == (not test), feature
        assert not test or (ROOT / test.strip("`")).is_file(), test
