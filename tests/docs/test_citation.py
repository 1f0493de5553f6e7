"""CITATION.cff names the version that there is."""

from __future__ import annotations

from pathlib import Path

import yaml

import moxing

ROOT = Path(__file__).parents[2]


def test_the_citation_has_the_version_and_the_license() -> None:
    told = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert told["version"] == moxing.__version__
    assert f'license = "{told["license"]}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
