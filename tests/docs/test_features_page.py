"""Every feature of the page links to a test that there is, and on the site to no missing page."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "features.md"


def _rows() -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line][
        2:
    ]


def test_rows_link_to_tests() -> None:
    assert len(_rows()) == 26
    for feature, answer, test in _rows():
        assert answer.startswith("["), feature
        link = re.fullmatch(r"\[`(tests/\S+)`\]\(\.\./\.\./(\S+)\)", test)
        assert link, test
        assert link[1] == link[2], test
        tree = ast.parse((ROOT / link[1]).read_text(encoding="utf-8"))
        names = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        assert any(name.startswith("test_") for name in names), test


def test_links_to_the_repository_are_text_on_a_site_without_one() -> None:
    hook = runpy.run_path(str(ROOT / "tools" / "site_links.py"))["on_page_markdown"]
    text = "[`tests/a.py`](../../tests/a.py), [flags](flags.md)"
    assert hook(text, {}) == "`tests/a.py`, [flags](flags.md)"
    home = {"repo_url": "https://example.com/openmox/"}
    assert hook(text, home) == (
        "[`tests/a.py`](https://example.com/openmox/blob/main/tests/a.py), [flags](flags.md)"
    )
