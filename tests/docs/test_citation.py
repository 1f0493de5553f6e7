"""CITATION.cff and REUSE.toml name the version and the license that there are."""

from __future__ import annotations

import tomllib
from pathlib import Path

import yaml

import moxing

ROOT = Path(__file__).parents[2]


def test_the_citation_has_the_version_and_the_license() -> None:
    told = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert told["version"] == moxing.__version__
    assert f'license = "{told["license"]}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_every_file_has_the_license() -> None:
    (all_files,) = tomllib.loads((ROOT / "REUSE.toml").read_text("utf-8"))["annotations"]
    license = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["license"]
    assert (all_files["path"], all_files["SPDX-License-Identifier"]) == ("**", license)
    assert (ROOT / "LICENSES" / f"{license}.txt").read_text() == (ROOT / "LICENSE").read_text()
