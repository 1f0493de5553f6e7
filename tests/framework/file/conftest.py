"""Settings that no test inherits, and the places and trees that the tests of `mox.file` use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _clean(clean_settings: None) -> None:
    """Every test here starts without settings."""


@pytest.fixture(params=["local", "s3", "folder"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty directory on the disk, in a store, and in a directory that stands for one."""
    if request.param == "local":
        path = tmp_path / "place"
        path.mkdir()
        return str(path)
    return request.getfixturevalue("bucket" if request.param == "s3" else "folder_bucket")


@pytest.fixture
def make_tree(tmp_path: Path) -> Callable[..., Path]:
    """Makes a local directory of the given files: `make_tree({"a/b": b"data"})`."""

    def make(files: dict[str, bytes], name: str = "tree") -> Path:
        base = tmp_path / name
        for path, data in files.items():
            target = base / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        return base

    return make


@pytest.fixture
def read_tree() -> Callable[[Path], dict[str, bytes]]:
    """Reads a local directory back as `make_tree` takes it."""

    def read(base: Path) -> dict[str, bytes]:
        found = (path for path in base.rglob("*") if path.is_file())
        return {str(path.relative_to(base)): path.read_bytes() for path in found}

    return read
