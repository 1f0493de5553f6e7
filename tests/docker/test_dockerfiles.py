"""The Dockerfiles pass a linter, and copy all that is needed to install openmox."""

from __future__ import annotations

import fnmatch
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docker"
PRODUCT = FOLDER / "openmox.Dockerfile"
FILES = sorted(FOLDER.glob("*.Dockerfile"))


def lint(path: Path) -> subprocess.CompletedProcess[str]:
    tool = Path(sys.executable).parent / "hadolint"
    return subprocess.run(
        [tool, "--no-color", path], capture_output=True, text=True, timeout=240, check=False
    )


def instructions(path: Path) -> list[list[str]]:
    """The words of each instruction."""
    text = path.read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [line.split() for line in lines]


def copied() -> list[str]:
    """What the image of openmox takes from the folder of the source."""
    found = [words[1:-1] for words in instructions(PRODUCT) if words[0] == "COPY"]
    return [name for names in found for name in names]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_linter_finds_nothing(path: Path) -> None:
    done = lint(path)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_linter_would_find_something(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM debian\nRUN cd /tmp && apt-get install curl\n")
    done = lint(tmp_path / "Dockerfile")
    assert done.returncode == 1
    assert "DL3006" in done.stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_base_is_an_argument(path: Path) -> None:
    first, *rest = instructions(path)
    assert first[1].startswith("BASE=")
    bases = {words[1] for words in rest if words[0] == "FROM"}
    assert bases == {"${BASE}"}


def test_what_the_package_needs_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = ["pyproject.toml", project["project"]["readme"], *project["project"]["license-files"]]
    needed += [
        *wheel["packages"],
        *wheel["force-include"],
        project["tool"]["hatch"]["version"]["path"],
    ]
    for name in needed:
        assert any(Path(name).is_relative_to(part) for part in copied()), name


def test_what_is_copied_is_there_and_is_sent_to_the_builder() -> None:
    lines = (FOLDER / f"{PRODUCT.name}.dockerignore").read_text().split()
    assert lines[0] == "*"
    assert sorted(line.removeprefix("!") for line in lines if line[0] == "!") == sorted(copied())
    assert all((ROOT / name).exists() for name in copied())
    assert fnmatch.fnmatch("src/moxing/__pycache__", lines[-1])
