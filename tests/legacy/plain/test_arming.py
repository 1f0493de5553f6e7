"""`mox legacy`: on, off, status, and a site-packages that cannot be written to."""

from __future__ import annotations

from pathlib import Path

import pytest

from moxing.errors import MoxRuntimeError
from moxing.legacy.plain import arming


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(arming.sysconfig, "get_path", lambda kind: str(tmp_path))
    return tmp_path / "openmox-armed.pth"


def test_on_and_off(marker: Path) -> None:
    assert arming.status() == f"off: {marker} is not there."
    assert arming.disarm() == f"off: it was not on ({marker} is not there)."

    assert arming.arm() == (
        "on: `python SCRIPT.py` now runs programs that import moxing or oneflow as"
        f" `mox run SCRIPT.py` does ({marker})."
    )
    assert arming.arm().startswith("on:")
    assert arming.status() == f"on: {marker} is there."
    assert marker.read_text().startswith("import sys; exec(")
    assert [path.name for path in marker.parent.iterdir()] == ["openmox-armed.pth"]

    assert arming.disarm() == (
        f"off: `python SCRIPT.py` runs programs as they are again ({marker} is removed)."
    )
    assert arming.status() == f"off: {marker} is not there."


def test_on_for_all_old_programs(marker: Path) -> None:
    assert arming.arm(all_old=True) == (
        "on: `python SCRIPT.py` now runs programs that import moxing or oneflow, and those that are"
        f" written for TensorFlow 1.x, as `mox run SCRIPT.py` does ({marker})."
    )
    assert arming.status() == f"on: {marker} is there, for every program of TensorFlow 1.x."
    arming.arm()
    assert arming.status() == f"on: {marker} is there."


def test_a_folder_that_cannot_be_written_to(marker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arming.sysconfig, "get_path", lambda kind: str(marker.parent / "none"))

    with pytest.raises(MoxRuntimeError) as raised:
        arming.arm()

    assert str(raised.value) == (
        f"cannot write {marker.parent}/none/openmox-armed.pth: No such file or directory. Run"
        " `mox legacy on` as the owner of this Python environment or in a virtual environment;"
        " `mox run SCRIPT.py` needs neither."
    )


def test_a_marker_that_cannot_be_removed(marker: Path) -> None:
    marker.mkdir()

    with pytest.raises(MoxRuntimeError, match=f"cannot remove {marker}: "):
        arming.disarm()
