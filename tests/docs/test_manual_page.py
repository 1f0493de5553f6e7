"""The page of MoXing's manual has every pitfall, and every pitfall has a test."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "moxing-manual.md"
TESTS = ROOT / "tests" / "programs" / "test_pitfalls.py"


def listed() -> list[str]:
    return re.findall(r"^\| (\d-\d-\d) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def shown_by_tests() -> list[str]:
    found = re.findall(r"^def test_pitfall_(\d_\d_\d)_", TESTS.read_text("utf-8"), re.MULTILINE)
    return [number.replace("_", "-") for number in found]


def test_every_pitfall_of_the_table_has_a_test_and_every_test_a_row() -> None:
    assert listed() == shown_by_tests()
    assert len(set(listed())) == len(listed()) == 21


def test_the_table_has_a_row_for_every_section() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for section in ("1", "2.3", "2.4", "3.4", *(f"4.{n}" for n in range(1, 9)), "5", "6"):
        assert re.search(rf"^\| (.*; )?{re.escape(section)} ", text) or f"| {section} " in text
