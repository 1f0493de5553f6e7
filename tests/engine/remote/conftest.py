"""Where runs of a test keep what stands for a store."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))


@pytest.fixture(autouse=True)
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clean_settings: None) -> Path:
    """Where runs of this test keep what stands for a store."""
    path = tmp_path / "local"
    path.mkdir()
    monkeypatch.setenv("MOX_FILE_CACHE_DIR", str(path))
    return path
