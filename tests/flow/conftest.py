"""What the tests of the flow dialect share."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import moxing.flow as flow
from moxing.flow.runtime import session


def _of_mox_file() -> Any:
    path = Path(__file__).parents[1] / "framework" / "file" / "conftest.py"
    spec = importlib.util.spec_from_file_location("fixtures_of_mox_file", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# A real S3 server, and a new bucket of it.
_shared = _of_mox_file()
s3_server, s3, client, bucket = _shared.s3_server, _shared.s3, _shared.client, _shared.bucket


@pytest.fixture(autouse=True)
def _own_session() -> Iterator[None]:
    """No jobs and no settings of another test."""
    _begin({})
    yield
    _begin({})


def _begin(settings: dict[str, Any]) -> None:
    flow.clear_default_session()
    session.default().settings.values = settings


@pytest.fixture
def devices() -> Callable[[int], None]:
    """Begins a session on that many devices."""
    return lambda count: _begin({"gpu_device_num": count})
