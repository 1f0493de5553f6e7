"""What `mox doctor --directory=s3://...` says of a store."""

from __future__ import annotations

import os
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from moxing.doctor import machine, store
from moxing.doctor.finding import BAD, GOOD, Finding
from moxing.errors import MoxError
from moxing.framework import file


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of this machine."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "S3_", "MOX_FILE_", "ACCESS_KEY", "SECRET_ACCESS")):
            monkeypatch.delenv(name)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """URL of a real store with a bucket, which the environment names."""
    from moto.server import ThreadedMotoServer

    running = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    running.start()
    url = f"http://127.0.0.1:{running.get_host_and_port()[1]}"
    monkeypatch.setenv("S3_ENDPOINT", url)
    monkeypatch.setenv("ACCESS_KEY_ID", "id")
    monkeypatch.setenv("SECRET_ACCESS_KEY", "key")
    request = urllib.request.Request(f"{url}/bucket", method="PUT")
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    direct.open(request, timeout=30).close()
    yield url
    running.stop()


def test_a_store_and_a_bucket_that_is_not_there(server: str) -> None:
    assert store.finding("s3://bucket/out") == Finding(
        GOOD, "directory s3://bucket/out", "an object could be written, read and deleted"
    )
    assert file.list_directory("s3://bucket") == []  # Nothing is left.
    missing = store.finding("s3://another/out")
    assert missing.verdict == BAD
    assert "s3://another" in missing.text


def test_a_store_that_nobody_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # And does not listen.
        port = bound.getsockname()[1]
        monkeypatch.setenv("S3_ENDPOINT", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("ACCESS_KEY_ID", "id")
        monkeypatch.setenv("SECRET_ACCESS_KEY", "key")
        monkeypatch.setenv("MOX_FILE_RETRY_WAIT", "0.01")
        found = store.finding("s3://b/out")
    assert found.verdict == BAD
    assert found.text.startswith(f"Unable to connect to endpoint http://127.0.0.1:{port} for ")


def test_a_store_that_is_not_configured_or_not_known() -> None:
    assert store.finding("s3://b/out").text.startswith("no S3/OBS endpoint configured")
    assert store.finding("gs://b/out") == Finding(
        BAD, "directory gs://b/out", "no store that mox.file knows: s3:// and obs://"
    )


def test_a_store_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("S3_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("ACCESS_KEY_ID", "id")
        monkeypatch.setenv("SECRET_ACCESS_KEY", "key")
        monkeypatch.setattr(store, "_SECONDS", 0.5)
        found = store.finding("s3://b/out")
    assert found == Finding(BAD, "directory s3://b/out", "the store does not answer within 0.5 s")


def test_what_can_be_written_must_be_deleted_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "b").mkdir()
    monkeypatch.setenv("MOX_FILE_S3_ROOT", str(tmp_path))

    def refuse(url: str) -> None:
        raise MoxError("Access\ndenied")

    monkeypatch.setattr(store.file, "remove", refuse)
    assert store.main(["s3://b/out"]) == 1
    (written,) = (tmp_path / "b" / "out").iterdir()
    assert capsys.readouterr().out == (
        f"s3://b/out/{written.name} could be written, but not deleted, as old checkpoints must be:"
        " Access denied\n"
    )


def test_a_url_is_no_local_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "_tensorflow", lambda: iter(()))
    (tmp_path / "b").mkdir()
    monkeypatch.setenv("MOX_FILE_S3_ROOT", str(tmp_path))
    *_, found = machine.findings("obs://b/out")
    assert (found.verdict, found.what) == (GOOD, "directory obs://b/out")
