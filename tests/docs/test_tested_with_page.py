"""The page of outside systems has each of them, and names tests that exist."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("tested_with", ROOT / "tools" / "tested_with.py")
assert spec
assert spec.loader
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)
WORLD = {
    "slurm": "slurm-wlm 22",
    "ssh": "OpenSSH_9",
    "slirp4netns": "slirp4netns version 1",
    "s3": "ceph",
    "browser": "Chromium",
    "images": "buildah 1",
}


def without_versions(text: str) -> str:
    return re.sub(r"^(\| [^|]+\| )[^|]+", r"\1", text, flags=re.MULTILINE)


def test_the_page_is_what_the_tool_writes() -> None:
    """But for versions, which are those of the machine that wrote the page."""
    assert without_versions(tool.PAGE.read_text("utf-8")) == without_versions(tool.page(WORLD))


def test_each_test_is_there() -> None:
    missing = [test for *_, test in tool.rows(WORLD) if not (ROOT / test).exists()]
    assert not missing
