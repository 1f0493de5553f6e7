"""What `mox doctor` says of a machine."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Any

import pytest

from moxing import tf_version
from moxing.doctor import machine
from moxing.doctor.finding import BAD, GOOD, NOTE, Finding
from moxing.errors import MoxImportError


def by_name(directory: Path) -> dict[str, Finding]:
    return {finding.what: finding for finding in machine.findings(str(directory))}


@pytest.mark.slow
def test_this_machine_can_run_programs(tmp_path: Path) -> None:
    found = by_name(tmp_path)
    assert found["TensorFlow"].text.startswith("2.21")
    assert found["tf_keras"].verdict == GOOD
    assert all(finding.verdict != BAD for finding in found.values())


def test_a_tensorflow_that_does_not_fit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def check() -> None:
        raise MoxImportError("found tensorflow 1.15")

    monkeypatch.setattr(tf_version, "check", check)
    assert by_name(tmp_path)["TensorFlow"] == Finding(BAD, "TensorFlow", "found tensorflow 1.15")


def test_an_import_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "_LOOK", "raise SystemError('no such driver')")
    found = by_name(tmp_path)["TensorFlow"]
    assert found.verdict == BAD
    assert found.text == "import tensorflow fails: SystemError: no such driver"


def test_an_import_that_hangs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "_LOOK", "import time; time.sleep(60)")
    monkeypatch.setattr(machine, "_IMPORT_SECONDS", 0.5)
    assert "does not end within" in by_name(tmp_path)["TensorFlow"].text


def test_a_missing_keras(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "_tensorflow", lambda: iter(()))

    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert "pip install tf_keras" in by_name(tmp_path)["tf_keras"].text


def test_a_directory_that_is_still_to_be_made_and_a_full_disk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(machine, "_tensorflow", lambda: iter(()))
    place = tmp_path / "a" / "b"
    text = by_name(place)[f"directory {place}"].text
    assert text.startswith("is not there yet, a run makes it; ")
    assert text.endswith("GB free")

    class Usage:
        free = 1024**3

    def usage(path: Any) -> Usage:
        assert path == tmp_path
        return Usage()

    monkeypatch.setattr(machine.shutil, "disk_usage", usage)
    assert by_name(place)[f"directory {place}"].verdict == NOTE
