"""The S3 server, and the proxy that fails, of the tests of `mox.file`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS / "engine"))


def _fixtures() -> Any:
    path = TESTS / "framework" / "file" / "conftest.py"
    spec = importlib.util.spec_from_file_location("fixtures_of_mox_file", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_shared = _fixtures()
s3_server, s3, client, bucket = _shared.s3_server, _shared.s3, _shared.client, _shared.bucket
clean_settings, folder_bucket = _shared.clean_settings, _shared.folder_bucket


@pytest.fixture
def keys() -> tuple[str, str]:
    """The credentials that the tests use."""
    return _shared.KEY, _shared.SECRET


@pytest.fixture(scope="session")
def faults() -> Any:
    """The module of the faulty proxy."""
    path = TESTS / "framework" / "file" / "faulty_proxy.py"
    spec = importlib.util.spec_from_file_location("faulty_proxy", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def proxy(faults: Any, s3: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A proxy before the server, through which the settings of this test lead."""
    made = faults.FaultyProxy(s3)
    monkeypatch.setenv("S3_ENDPOINT", made.url)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clean_settings: None) -> Path:
    """Where runs of this test keep what stands for a store."""
    path = tmp_path / "local"
    path.mkdir()
    monkeypatch.setenv("MOX_FILE_CACHE_DIR", str(path))
    return path
