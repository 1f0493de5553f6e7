"""The page of dependencies has each one that is installed, with its range."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
GROUPS = PROJECT["dependency-groups"]


@pytest.mark.parametrize("requirement", PROJECT["project"]["dependencies"])
def test_every_dependency_has_a_row_with_its_range(requirement: str) -> None:
    name, bounds = split(requirement)
    assert f"\n| {name} | {bounds} | " in PAGE


def test_no_row_is_left_over() -> None:
    rows = re.findall(r"^\| ([a-z0-9-]+) \| >=", PAGE, re.MULTILINE)
    assert rows == [split(item)[0] for item in PROJECT["project"]["dependencies"]]


@pytest.mark.parametrize("group", GROUPS)
def test_every_tool_has_a_row_with_its_group(group: str) -> None:
    rows = [line for line in PAGE.splitlines() if f"| {group} |" in line]
    listed = re.findall(r"[a-z0-9-]+", " ".join(row.split("|")[1] for row in rows))
    tools = [split(item)[0] for item in GROUPS[group] if isinstance(item, str)]
    assert sorted(listed) == sorted(tools)


def split(requirement: str) -> tuple[str, str]:
    found = re.fullmatch(r"([A-Za-z0-9_-]+)(?:\[[^]]*\])?(.*)", requirement)
    assert found
    return found[1], found[2]
