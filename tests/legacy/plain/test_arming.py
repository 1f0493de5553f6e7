"""`mox legacy`: on, off, status, and a site-packages that cannot be written to."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import moxing
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


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A Python environment in which pip has installed a package of the name openmox."""
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    site = next(tmp_path.glob("env/lib/python*/site-packages"))
    (site / "others.pth").write_text(
        f"{Path(moxing.__file__).parents[1]}\n{sysconfig.get_path('purelib')}\n"
    )
    info = site / "openmox-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: openmox\nVersion: 1.0\n")
    (info / "INSTALLER").write_text("pip\n")
    (info / "RECORD").write_text(
        "".join(f"{info.name}/{name},,\n" for name in ("METADATA", "INSTALLER", "RECORD"))
    )
    return site


def _switch(site: Path, call: str) -> None:
    python = site.parents[2] / "bin" / "python"
    program = f"from moxing.legacy.plain import arming; print(arming.{call})"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_pip_uninstall_leaves_no_marker(installed: Path) -> None:
    _switch(installed, "arm()")
    _switch(installed, "arm(all_old=True)")
    assert (installed / "openmox-armed.pth").exists()

    pip = [sys.executable, "-m", "pip", "--python", str(installed.parents[2])]
    subprocess.run([*pip, "uninstall", "-y", "openmox"], check=True, timeout=240)

    assert [path.name for path in installed.iterdir()] == ["others.pth"]


@pytest.mark.slow
def test_off_leaves_the_record_as_it_was(installed: Path) -> None:
    record = installed / "openmox-1.0.dist-info" / "RECORD"
    before = record.read_text()

    _switch(installed, "arm()")
    assert record.read_text() == f"{before}openmox-armed.pth,,\n"
    _switch(installed, "disarm()")

    assert record.read_text() == before
