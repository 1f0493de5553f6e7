"""What a real store refuses and moto takes; run where tools/ceph_gateway.py has brought up Ceph."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from moxing.framework import file

pytestmark = pytest.mark.skipif(
    "MOX_S3_SERVER" not in os.environ, reason="moto takes all of this; Ceph does not"
)
USES: dict[str, Callable[[str, Path], object]] = {
    "write": lambda url, path: file.write(f"{url}/new.txt", "text"),
    "read": lambda url, path: file.read(f"{url}/a.txt"),
    "list": lambda url, path: file.list_directory(url),
    "stat": lambda url, path: file.stat(f"{url}/a.txt"),
    "remove": lambda url, path: file.remove(f"{url}/a.txt"),
    "upload": lambda url, path: file.copy(str(path), f"{url}/new.txt"),
    "folder": lambda url, path: file.copy_parallel(str(path.parent), f"{url}/folder"),
}


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """A file to upload, of which a part is sent at a time."""
    path = tmp_path / "local.bin"
    path.write_bytes(b"1" * (6 << 20))
    return path


@pytest.mark.parametrize("wrong", ["SECRET_ACCESS_KEY", "ACCESS_KEY_ID", "both", "neither"])
def test_wrong_keys_are_told_at_once_in_every_use(
    wrong: str, bucket: str, local: Path, keys: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write(f"{bucket}/a.txt", "text")
    monkeypatch.setenv("MOX_FILE_LARGE_FILE_PART_SIZE", str(5 << 20))
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        if wrong == "neither":
            monkeypatch.delenv(name)
        elif wrong in (name, "both"):
            monkeypatch.setenv(name, "WRONG" * 4)
    words = (
        "set ACCESS_KEY_ID" if wrong == "neither" else "check ACCESS_KEY_ID and SECRET_ACCESS_KEY"
    )
    began = time.monotonic()
    for name, use in USES.items():
        with pytest.raises(OSError, match=words) as caught:
            use(bucket, local)
        assert keys[1] not in str(caught.value), name
        assert "WRONG" not in str(caught.value), name
    assert time.monotonic() - began < 20  # No refusal is tried again.
    monkeypatch.setenv("ACCESS_KEY_ID", keys[0])
    monkeypatch.setenv("SECRET_ACCESS_KEY", keys[1])
    assert file.list_directory(bucket, recursive=True) == ["a.txt"]


def test_a_bucket_of_somebody_else(bucket: str, client: Any) -> None:
    """A policy stands for the other user: the store lets nobody write."""
    name = bucket.removeprefix("s3://")
    policy = (
        '{"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*",'
        f' "Action": "s3:PutObject", "Resource": "arn:aws:s3:::{name}/*"}}]}}'
    )
    client.put_bucket_policy(Bucket=name, Policy=policy)
    with pytest.raises(PermissionError, match="the rights they have on the bucket"):
        file.write(f"{bucket}/a.txt", "text")
    assert file.list_directory(bucket) == []


def test_an_upload_in_parts_that_is_broken_off_leaves_no_part(
    bucket: str, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOX_FILE_LARGE_FILE_PART_SIZE", str(5 << 20))

    def pieces() -> Iterator[bytes]:
        yield b"1" * (12 << 20)
        raise LookupError

    with pytest.raises(LookupError), file.File(f"{bucket}/a.bin", "wb") as handle:
        handle.writelines(pieces())
    assert file.list_directory(bucket) == []
    assert not client.list_multipart_uploads(Bucket=bucket.removeprefix("s3://")).get("Uploads")
