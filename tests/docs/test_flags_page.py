"""The page of flags lists what the program has."""

from __future__ import annotations

from pathlib import Path

from moxing.tensorflow.flags import TABLE, FlagSpec

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "flags.md"


def row(spec: FlagSpec) -> str:
    default = {None: "not set", "": "empty"}.get(spec.default, str(spec.default))
    values = [f"`{value}`" for value in spec.only or () if value]
    fixed = f" One of {', '.join(values)}." if values else ""
    return f"| `{spec.name}` | {spec.kind} | {default} | {spec.help}{fixed} |"


def test_page_has_every_flag_and_no_other() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    found = [line for line in lines if line.startswith("| `") and line.count("|") == 5]
    expected = "\n".join(map(row, TABLE))
    assert "\n".join(found) == expected, f"the table in {PAGE} should be\n{expected}"
