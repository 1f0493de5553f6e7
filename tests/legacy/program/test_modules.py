"""`mox run -m`: which file a dotted name means, without importing anything on the way."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from moxing.errors import MoxValueError
from moxing.legacy.program import modules


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("nmt/nmt.py", "nmt/__main__.py", "spaced/deep/train.py", "alone.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("raise SystemExit('must not run')\n")
    for package in ("nmt", "bare"):
        (tmp_path / package).mkdir(exist_ok=True)
        (tmp_path / package / "__init__.py").write_text("raise SystemExit('must not run')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("nmt.nmt", "nmt/nmt.py"),
        ("nmt", "nmt/__main__.py"),
        ("spaced.deep.train", "spaced/deep/train.py"),
        ("alone", "alone.py"),
    ],
)
def test_modules_and_packages(folder: Path, name: str, file: str) -> None:
    assert modules.find(name).origin == str(folder / file)
    assert name.partition(".")[0] not in sys.modules


def test_modules_on_the_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "models").mkdir()
    (folder / "models" / "slim_nets.py").write_text("")
    monkeypatch.syspath_prepend(folder / "models")

    assert modules.find("slim_nets").origin == str(folder / "models" / "slim_nets.py")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "the name of the module is empty: mox run -m PACKAGE.MODULE [flags]"),
        ("nmt.nnt", "there is no module nmt.nnt in DIR/nmt. Did you mean 'nmt'?"),
        ("nmt/nmt.py", "-m takes the name of a module, not a file: mox run -m nmt.nmt, or mox run"),
        ("bare", "bare is a package without a file __main__.py: name one of its modules, mox run"),
        ("alone.x", "alone (DIR/alone.py) is a module, not a package."),
        ("ntm.nmt", "there is no module ntm in DIR, nor on PYTHONPATH. Did you mean 'nmt'?"),
    ],
)
def test_what_is_no_module(folder: Path, name: str, message: str) -> None:
    with pytest.raises(MoxValueError) as raised:
        modules.find(name)

    assert str(raised.value).startswith(message.replace("DIR", str(folder)))
