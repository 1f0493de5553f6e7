"""A real S3 server on loopback, one fresh bucket for each test, and a proxy that fails."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from moxing.framework import file
from moxing.framework.file.configuration import settings

# moto's server keeps objects in memory, checks part sizes and tags as S3 does, and installs from
# the package index with no binary of its own.
SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""
KEY, SECRET = "AKIAMOXTESTACCESSKEY", "mox-test-secret-key-0123456789"


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """URL of an S3 server that runs as long as the tests."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    port = process.stdout.readline().strip()
    assert port, "moto's server did not start; is moto[server] installed?"
    yield f"http://127.0.0.1:{port}"
    process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@pytest.fixture(autouse=True)
def clean_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No settings of the machine, and none of an earlier test."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "S3_", "MOX_FILE_", "ACCESS_KEY", "SECRET_ACCESS", "DLS_")):
            monkeypatch.delenv(name)
    settings.reset_auth()
    yield
    settings.reset_auth()
    file.shift("mox", "os")


@pytest.fixture
def s3(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """URL of a server that the settings of this test point to."""
    monkeypatch.setenv("S3_ENDPOINT", s3_server)
    monkeypatch.setenv("ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("MOX_FILE_RETRY_WAIT", "0.01")
    return s3_server


@pytest.fixture
def client(s3_server: str) -> Any:
    """boto's own client, to look at the store from the outside."""
    import boto3

    return boto3.client(
        "s3",
        endpoint_url=s3_server,
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
    )


@pytest.fixture
def bucket(s3: str, client: Any) -> str:
    """URL of a new bucket of the server."""
    name = f"mox-{uuid.uuid4().hex[:20]}"
    client.create_bucket(Bucket=name)
    return f"s3://{name}"


@pytest.fixture
def folder_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """URL of a bucket in a local directory."""
    root = tmp_path / "store"
    (root / "bucket").mkdir(parents=True)
    monkeypatch.setenv("MOX_FILE_S3_ROOT", str(root))
    return "s3://bucket"


@pytest.fixture(params=["local", "s3", "folder"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty directory on the disk, in a store, and in a directory that stands for one."""
    if request.param == "local":
        path = tmp_path / "place"
        path.mkdir()
        return str(path)
    return request.getfixturevalue("bucket" if request.param == "s3" else "folder_bucket")


@pytest.fixture(scope="session")
def faults() -> ModuleType:
    """The module of the faulty proxy."""
    path = Path(__file__).with_name("faulty_proxy.py")
    spec = importlib.util.spec_from_file_location("faulty_proxy", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def proxy(faults: ModuleType, s3: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A proxy before the server, through which the settings of this test lead."""
    made = faults.FaultyProxy(s3)
    monkeypatch.setenv("S3_ENDPOINT", made.url)
    yield made
    made.close()


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
