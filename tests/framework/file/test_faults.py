"""A store that fails, hangs up, loses answers, is away or slow, loses no data."""

from __future__ import annotations

import datetime
import errno
import ipaddress
import logging
import os
import random
import resource
import ssl
import threading
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from moxing.framework import backoff
from moxing.framework import file as mox
from moxing.framework.file.store import client, retry, writer

MIB = 1 << 20


def test_one_request_in_five_fails(
    proxy: Any,
    bucket: str,
    tmp_path: Path,
    make_tree: Callable[..., Path],
    read_tree: Callable[[Path], dict[str, bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MOX_FILE_LARGE_FILE_PART_SIZE", str(5 * MIB))
    rng = random.Random(0)
    files = {f"d{n % 3}/f{n}": rng.randbytes(rng.randrange(5000)) for n in range(60)}
    files["large"] = rng.randbytes(17 * MIB)
    tree = make_tree(files)
    proxy.every = 5
    mox.copy_parallel(tree, f"{bucket}/t")
    mox.copy_parallel(f"{bucket}/t", tmp_path / "down")
    mox.copy_parallel(f"{bucket}/t", f"{bucket}/u")
    mox.append(f"{bucket}/u/large", b"tail", binary=True)
    mox.rename(f"{bucket}/u", f"{bucket}/v")
    assert proxy.failed > 20
    proxy.every = 0
    assert read_tree(tmp_path / "down") == files
    mox.copy_parallel(f"{bucket}/v", tmp_path / "again")
    files["large"] += b"tail"
    assert read_tree(tmp_path / "again") == files
    assert mox.list_directory(bucket) == ["t", "v"]


def test_answers_that_break_off(proxy: Any, bucket: str, faults: ModuleType) -> None:
    mox.write(f"{bucket}/a", "0123456789" * 20)
    proxy.faults, proxy.every = (faults.CUT,), 2
    for _ in range(6):
        assert mox.read(f"{bucket}/a") == "0123456789" * 20
        with mox.File(f"{bucket}/a") as file:
            assert file.read(4) == "0123"
    assert proxy.failed > 3


def test_lost_answer_of_the_last_request_of_an_upload(
    proxy: Any, bucket: str, faults: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = random.Random(1).randbytes(17 * MIB)
    lost: list[str] = []
    ask = proxy.fault

    def fault(method: str, path: str) -> str | None:
        if method == "POST" and "uploadId=" in path and not lost:
            lost.append(path)
            return faults.LOSE
        return ask(method, path)

    monkeypatch.setattr(proxy, "fault", fault)
    mox.write(f"{bucket}/a", data, binary=True)
    assert lost
    assert mox.read(f"{bucket}/a", binary=True) == data


def test_store_away_for_some_seconds(
    proxy: Any, bucket: str, caplog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOX_FILE_RETRY_WAIT", "0.2")
    caplog.set_level(logging.WARNING)
    with proxy.gone_for(2.0):
        mox.write(f"{bucket}/a", "kept")
    assert mox.read(f"{bucket}/a") == "kept"
    assert f"{bucket}/a" in caplog.text
    assert "trying again in" in caplog.text


def test_default_settings_outlast_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    # Not time.sleep itself: threads of other tests may sleep now.
    clock = types.SimpleNamespace(sleep=waits.append, monotonic=time.monotonic)
    monkeypatch.setattr(retry, "time", clock)
    error = mox.MoxFileConnectionException("away")
    error.transient = True

    def fail() -> None:
        raise error

    def waited() -> float:
        waits.clear()
        with pytest.raises(mox.MoxFileConnectionException, match=r"away \(tried 10 times\)"):
            retry.persist(fail, lambda found: error, 10, 0.5)
        assert len(waits) == 9
        return sum(waits)

    error.args = ("away",)
    assert 60 * 0.75 < waited() < 76 * 1.25
    error.args = ("away",)
    monkeypatch.setattr(backoff._RANDOM, "uniform", lambda low, high: low)  # The shortest waits.
    assert waited() > 40


def test_nobody_listens(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S3_ENDPOINT", "http://127.0.0.1:9")
    mox.set_auth(retry=2)
    with pytest.raises(mox.MoxFileConnectionException) as error:
        mox.read("s3://bucket/a")
    assert str(error.value) == (
        "Unable to connect to endpoint http://127.0.0.1:9 for s3://bucket/a. Check S3_ENDPOINT and "
        "S3_USE_HTTPS, and that the network reaches it (tried 2 times)"
    )
    assert isinstance(error.value, ConnectionError)


def test_an_address_that_nobody_ever_reached_is_given_up_soon(
    bucket: str, proxy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "FIRST_CONTACT", 1.0)
    mox.write(f"{bucket}/a", "kept")  # This store was reached, and may be away for longer.
    with proxy.gone_for(2.0):
        assert mox.read(f"{bucket}/a") == "kept"
    monkeypatch.setenv("S3_ENDPOINT", "http://127.0.0.1:9")
    began = time.monotonic()
    with pytest.raises(mox.MoxFileConnectionException, match=r"^Unable to connect to endpoint"):
        mox.read("s3://bucket/a")
    assert time.monotonic() - began < 20  # All ten attempts take a minute.


def test_silent_store_ends_in_an_error(proxy: Any, bucket: str) -> None:
    mox.set_auth(client_timeout=0.3, retry=2)
    proxy.wait = 30.0
    began = time.monotonic()
    with pytest.raises(mox.MoxFileConnectionException, match="tried 2 times"):
        mox.stat(f"{bucket}/a")
    assert time.monotonic() - began < 20  # Not when it answers.


def test_time_limit_of_one_operation(proxy: Any, bucket: str) -> None:
    mox.set_auth(timeout_config={"getObjectMetadata": 0.2}, retry=1)
    proxy.wait = 10.0
    with pytest.raises(mox.MoxFileConnectionException) as error:
        mox.stat(f"{bucket}/a")
    assert str(error.value) == (
        f"head_object of {bucket}/a at {proxy.url} did not end within its time limit"
    )


def test_slow_answer_is_waited_for_while_bytes_come(proxy: Any, bucket: str) -> None:
    data = bytes(200_000)
    mox.write(f"{bucket}/a", data, binary=True)
    mox.set_auth(client_timeout=2, retry=1)
    proxy.rate = 60_000
    assert mox.read(f"{bucket}/a", binary=True) == data


def test_broken_download_goes_on_where_it_broke(
    proxy: Any, bucket: str, faults: ModuleType, tmp_path: Path
) -> None:
    data = random.Random(2).randbytes(8 * MIB)
    mox.write(f"{bucket}/a", data, binary=True)
    proxy.seen.clear()
    proxy.faults, proxy.every = (faults.CUT,), 2
    mox.copy(f"{bucket}/a", tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == data
    gets = [path for method, path in proxy.seen if method == "GET"]
    assert 1 < len(gets) <= 4


def test_reader_sees_that_the_object_changed(bucket: str) -> None:
    mox.write(f"{bucket}/a", b"1" * MIB, binary=True)
    with mox.File(f"{bucket}/a", "rb") as file:
        file.read(10)
        mox.write(f"{bucket}/a", b"2" * MIB, binary=True)
        with pytest.raises(mox.MoxFileReadException, match="changed while it was being read"):
            file.read()


def test_append_to_an_object_that_changes_fails_and_keeps_it(bucket: str) -> None:
    mox.write(f"{bucket}/a", b"1" * (9 * MIB), binary=True)
    file = mox.File(f"{bucket}/a", "ab")
    file.write(b"tail")
    mox.write(f"{bucket}/a", b"2" * (9 * MIB), binary=True)
    with pytest.raises(mox.MoxFileRespException, match="changed by somebody else"):
        file.close()
    assert mox.get_size(f"{bucket}/a") == 9 * MIB


@pytest.mark.parametrize(
    ("code", "status", "kind", "transient", "words"),
    [
        ("AccessDenied", 403, PermissionError, False, "check ACCESS_KEY_ID and SECRET_ACCESS_KEY"),
        ("SignatureDoesNotMatch", 403, PermissionError, False, "the rights they have on the"),
        ("EntityTooLarge", 400, OSError, False, "set MOX_FILE_LARGE_FILE_PART_SIZE to fewer bytes"),
        ("SlowDown", 503, OSError, True, "(SlowDown, stat:503, get_object, request r1)"),
        ("RequestTimeout", 400, OSError, True, "refused get_object of s3://b/a"),
        ("InternalError", 500, OSError, True, "no more"),
        ("TeaPot", 418, OSError, False, "no more"),
    ],
)
def test_answers(
    proxy: Any, code: str, status: int, kind: type[OSError], transient: bool, words: str
) -> None:
    from botocore.exceptions import ClientError

    from moxing.framework.file.configuration import settings
    from moxing.framework.file.store import answers

    # moto refuses little, so the answers of stricter stores are made up.
    response: Any = {
        "Error": {"Code": code, "Message": "no more"},
        "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": "r1"},
    }
    error = ClientError(response, "GetObject")
    found = answers.translate(error, "get_object", "s3://b/a", settings.current())
    assert isinstance(found, kind)
    assert found.transient is transient
    assert words in str(found)
    assert found.resp is not None
    assert (found.resp.status, found.resp.errorCode) == (status, code)


def test_certificate_of_an_unknown_authority(
    s3: str,
    bucket: str,
    faults: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context, authority = _certificate(tmp_path)
    proxy = faults.FaultyProxy(s3, context)
    monkeypatch.setenv("S3_ENDPOINT", proxy.url.removeprefix("https://"))
    try:
        with pytest.raises(mox.MoxFileConnectionException) as error:
            mox.write(f"{bucket}/a", "x")
        assert str(error.value).startswith(
            f"Unable to connect to endpoint {proxy.url} for {bucket}/a: its TLS certificate was "
            "not accepted ("
        )
        assert "tried" not in str(error.value)
        monkeypatch.setenv("S3_CA_BUNDLE", str(authority))
        mox.write(f"{bucket}/a", "trusted")
        monkeypatch.delenv("S3_CA_BUNDLE")
        monkeypatch.setenv("S3_VERIFY_SSL", "0")
        assert mox.read(f"{bucket}/a") == "trusted"
    finally:
        proxy.close()


def test_tls_to_a_port_without(
    s3: str, bucket: str, proxy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for url in (s3, proxy.url):
        monkeypatch.setenv("S3_ENDPOINT", url.removeprefix("http://"))
        with pytest.raises(mox.MoxFileConnectionException) as error:
            mox.read(f"{bucket}/a")
        assert str(error.value) == (
            f"Unable to connect to endpoint {url.replace('http', 'https')} for {bucket}/a: it does "
            "not speak TLS there. For a store without TLS write http:// before the host in "
            "S3_ENDPOINT, or set S3_USE_HTTPS=0"
        )


def test_file_of_authorities_that_is_none(
    s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty.pem").write_text("no certificate here")
    monkeypatch.setenv("S3_ENDPOINT", s3.replace("http", "https"))
    for name in ("empty.pem", "missing.pem"):
        monkeypatch.setenv("S3_CA_BUNDLE", str(tmp_path / name))
        with pytest.raises(mox.MoxFileConnectionException) as error:
            mox.read("s3://bucket/a")
        assert (
            f"the file of authorities {tmp_path / name} (S3_CA_BUNDLE, AWS_CA_BUNDLE, or "
            "ssl_verify= of mox.file.set_auth) can't be used ("
        ) in str(error.value)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_proxy_that_is_away_is_named_without_its_password(
    s3: str, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S3_ENDPOINT", f"{scheme}://s3.example")
    monkeypatch.setenv("MOX_FILE_RETRY", "2")
    for name in ("NO_PROXY", "no_proxy", f"{scheme}_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(f"{scheme.upper()}_PROXY", "http://me:pa55word@127.0.0.1:9")
    with pytest.raises(mox.MoxFileConnectionException) as error:
        mox.read("s3://bucket/a")
    assert str(error.value).startswith(
        f"Unable to connect to the proxy that leads to {scheme}://s3.example, for s3://bucket/a: "
    )
    assert str(error.value).endswith(
        ". Check HTTP_PROXY and HTTPS_PROXY; a host in NO_PROXY is asked without a proxy (tried 2 "
        "times)"
    )
    assert "pa55word" not in str(error.value)


def _certificate(tmp_path: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's TLS context and the file of its own authority."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, both = tmp_path / "ca.pem", tmp_path / "server.pem"
    public.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    both.write_bytes(private + public.read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    return context, public


def test_ctrl_c_leaves_nothing_half_done(
    proxy: Any, bucket: str, tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from moxing.framework.file.copying import ledger

    monkeypatch.setenv("MOX_FILE_LARGE_FILE_PART_SIZE", str(5 * MIB))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a").write_bytes(bytes(40 * MIB))
    proxy.wait = 0.4

    def interrupt(self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ledger.Ledger, "tell", interrupt)
    with pytest.raises(KeyboardInterrupt):
        mox.copy_parallel(tmp_path / "src", bucket, threads=2)
    left = [thread.name for thread in threading.enumerate()]
    assert not [name for name in left if name.startswith("mox-file")]
    proxy.wait = 0.0
    uploads = client.list_multipart_uploads(Bucket=bucket.removeprefix("s3://"))
    assert uploads.get("Uploads", []) == []
    assert mox.list_directory(bucket) == []


@contextmanager
def _small_disk() -> Iterator[None]:
    """No file grows beyond 1 MiB, as if the disk were full then."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_object_as_it_was(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOX_FILE_CACHE_DIR", str(tmp_path / "cache"))
    mox.write(f"{bucket}/a", "old")
    file = mox.File(f"{bucket}/a", "wb")
    file.write(bytes(MIB))
    file.flush()
    file.write(b"more")
    with _small_disk(), pytest.raises(OSError, match="File too large") as error:
        file.flush()
    message = (
        f"{bucket}/a can't be written: File too large in {tmp_path}/cache, where files wait for "
        "their upload. Free space there, or set MOX_FILE_CACHE_DIR to a directory with more. "
        "Nothing more of it is sent"
    )
    assert (str(error.value), error.value.errno) == (message, errno.EFBIG)
    before = mox.read(f"{bucket}/a", binary=True)
    # Not with what reached the disk, either, though there is room again.
    with pytest.raises(OSError, match="can't be written"):
        file.close()
    assert mox.read(f"{bucket}/a", binary=True) == before
    mox.write(f"{bucket}/b", bytes(2 * MIB), binary=True)
    with _small_disk(), pytest.raises(OSError, match=f"{bucket}/b can't be written: File too"):
        mox.File(f"{bucket}/b", "r+b")
    assert os.listdir(tmp_path / "cache") == []


def test_a_full_disk_is_named_by_copies(bucket: str, tmp_path: Path) -> None:
    mox.write(f"{bucket}/d/a", bytes(2 * MIB), binary=True)
    mox.write(f"{bucket}/d/b", "small")
    with _small_disk():
        with pytest.raises(OSError, match="File too large") as error:
            mox.copy(f"{bucket}/d/a", tmp_path / "a")
        with pytest.raises(mox.MoxFileCopyException) as several:
            mox.copy_parallel(f"{bucket}/d", tmp_path / "d")
    assert str(error.value) == f"[Errno {errno.EFBIG}] File too large: '{tmp_path}/a'"
    assert [item.dst for item in several.value.failed] == [f"{tmp_path}/d/a"]
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "d", tmp_path / "d" / "b"]


@pytest.mark.parametrize("size", [1, 9 * MIB])
def test_append_adds_to_what_others_wrote_meanwhile(
    place: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    mox.write(f"{place}/a", b"0" * size, binary=True)
    real, others = writer.ObjectWriter.publish, [b"1", b"2"]

    def publish(self: writer.ObjectWriter, last: bool = False) -> None:
        if others:
            # As another process would, just before.
            other = others.pop()
            mox.append(f"{place}/a", other, binary=True)
        real(self, last)

    monkeypatch.setattr(writer.ObjectWriter, "publish", publish)
    mox.append(f"{place}/a", b"3", binary=True)
    ending = {b"3"} if mox.is_remote(place) is False else {b"123", b"213"}
    assert mox.read(f"{place}/a", binary=True).removeprefix(b"0" * size) in ending


@pytest.mark.parametrize("before", [b"", b"old"])
def test_file_open_for_appending_replaces_no_change_of_others(bucket: str, before: bytes) -> None:
    if before:
        mox.write(f"{bucket}/a", before, binary=True)
    file = mox.File(f"{bucket}/a", "ab")
    file.write(b"mine")
    mox.append(f"{bucket}/a", b"other", binary=True)
    with pytest.raises(mox.MoxFileRespException) as error:
        file.close()
    assert str(error.value) == (
        f"{bucket}/a was changed by somebody else since it was opened for appending; nothing was "
        "appended"
    )
    assert mox.read(f"{bucket}/a", binary=True) == before + b"other"
    with mox.File(f"{bucket}/a", "ab") as file:
        for _ in range(3):
            file.write(b"!")
            file.flush()
    assert mox.read(f"{bucket}/a", binary=True) == before + b"other!!!"
