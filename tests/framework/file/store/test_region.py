"""A bucket in another region than the one that the settings name.

moto and Ceph take any region of a signature. AWS does not: it refuses, and names the right one.
Ceph and OBS have an endpoint for each region: they refuse, and name the right endpoint.
"""

from __future__ import annotations

import http.client
import os
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from moxing.framework import file

# The gateway of the second region that tools/ceph_gateway.py brings up.
OTHER = os.environ.get("MOX_S3_OTHER_REGION", "")
WHERE = "eu-central-1"
REFUSAL = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{message}</Message>'
    f"<Region>{WHERE}</Region></Error>"
)
KINDS = {
    "malformed": (400, "AuthorizationHeaderMalformed", "the region 'us-east-1' is wrong"),
    "redirected": (301, "PermanentRedirect", "The bucket must be addressed elsewhere"),
}


class Regional(BaseHTTPRequestHandler):
    """Hands requests on to a store, but refuses those that are signed for another region."""

    protocol_version = "HTTP/1.1"
    target = ""
    kind = "malformed"
    refused: list[str] = []

    def log_message(self, *words: Any) -> None:
        del words

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        signed = re.search(r"Credential=[^/]+/\d+/([^/]+)/s3", self.headers["Authorization"] or "")
        if signed is None or signed[1] != WHERE:
            self.refused.append(self.command)
            status, code, message = KINDS[self.kind]
            text = REFUSAL.format(code=code, message=message).encode()
            own = {"x-amz-bucket-region": WHERE, "Content-Type": "application/xml"}
            self._send(status, own, b"" if self.command == "HEAD" else text)
            return
        parts = urlsplit(self.target)
        link = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=20)
        link.request(self.command, self.path, body, dict(self.headers))
        found = link.getresponse()
        content = found.read()
        own = {n: v for n, v in found.getheaders() if n.lower() not in ("transfer-encoding",)}
        self._send(found.status, own, content)
        link.close()

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        if self.command != "HEAD":
            headers = {n: v for n, v in headers.items() if n.lower() != "content-length"}
            headers["Content-Length"] = str(len(body))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _answer


@pytest.fixture
def regional(s3: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Regional]]:
    """A store whose buckets are in one region; the settings lead to it."""

    class Here(Regional):
        target = s3
        refused: list[str] = []

    server = ThreadingHTTPServer(("127.0.0.1", 0), Here)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    monkeypatch.setenv("S3_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    yield Here
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("region", ["us-east-1", "cn-north-4"])
def test_the_region_that_the_store_names_is_taken(
    kind: str, region: str, bucket: str, regional: type[Regional], monkeypatch: pytest.MonkeyPatch
) -> None:
    regional.kind = kind
    monkeypatch.setenv("S3_REGION", region)
    file.write(f"{bucket}/a/b.txt", "text")
    assert file.read(f"{bucket}/a/b.txt") == "text"
    assert file.list_directory(f"{bucket}/a") == ["b.txt"]
    assert file.exists(f"{bucket}/a/b.txt")
    assert not file.exists(f"{bucket}/a/c.txt")
    assert regional.refused
    few = len(regional.refused)
    for number in range(5):
        file.write(f"{bucket}/a/{number}.txt", "text")
    assert len(regional.refused) == few  # The region is remembered.


def test_the_right_region_is_never_refused(
    bucket: str, regional: type[Regional], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S3_REGION", WHERE)
    file.write(f"{bucket}/a.txt", "text")
    assert file.read(f"{bucket}/a.txt") == "text"
    assert not regional.refused


def test_a_store_that_takes_any_region(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S3_REGION", "somewhere-9")
    file.write(f"{bucket}/a.txt", "text")
    assert file.read(f"{bucket}/a.txt") == "text"


class Moved(BaseHTTPRequestHandler):
    """Sends every request to another endpoint."""

    status = 301
    headers_sent: dict[str, str] = {}
    text = ""
    asked: list[str] = []

    def log_message(self, *words: Any) -> None:
        del words

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.asked.append(self.command)
        body = b"" if self.command == "HEAD" else self.text.encode()
        self.send_response(self.status)
        for name, value in {**self.headers_sent, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _answer


def refusal(code: str, endpoint: str = "") -> str:
    inner = f"<Code>{code}</Code>{f'<Endpoint>{endpoint}</Endpoint>' if endpoint else ''}"
    return f'<?xml version="1.0" encoding="UTF-8"?><Error>{inner}</Error>'


USES = {
    "write": lambda url, folder: file.write(f"{url}/a.txt", "text"),
    "read": lambda url, folder: file.read(f"{url}/a.txt"),
    "list": lambda url, folder: file.list_directory(url),
    "exists": lambda url, folder: file.exists(f"{url}/a.txt"),
    "copy": lambda url, folder: file.copy_parallel(str(folder), url),
}


@pytest.mark.parametrize(
    ("status", "headers", "text", "place"),
    [
        (301, {"Location": "http://other:81/b/a.txt"}, "", "http://other:81"),
        (
            307,
            {"Location": "https://b.obs.north.com/"},
            refusal("TemporaryRedirect"),
            "https://obs.north.com",
        ),
        (301, {}, refusal("PermanentRedirect", "b.obs.south.com"), "obs.south.com"),
        (302, {"Location": "/elsewhere"}, "", ""),
        (301, {}, refusal("PermanentRedirect", "a b"), ""),
    ],
)
def test_the_endpoint_that_the_store_names_is_told_and_not_followed(
    status: int,
    headers: dict[str, str],
    text: str,
    place: str,
    keys: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Here(Moved):
        asked: list[str] = []

    Here.status, Here.headers_sent, Here.text = status, headers, text
    (tmp_path / "a.txt").write_text("text")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Here)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    monkeypatch.setenv("S3_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("ACCESS_KEY_ID", keys[0])
    monkeypatch.setenv("SECRET_ACCESS_KEY", keys[1])
    told = f"it is at {place}: set S3_ENDPOINT={place}" if place else "the endpoint of its region"
    try:
        for name, use in USES.items():
            Here.asked.clear()
            # The body names it, which the answer to HEAD has not.
            bodiless = name in ("exists", "copy") and not headers
            said = "it is at another endpoint" if bodiless and name == "exists" else told
            with pytest.raises(OSError, match=re.escape(said)):
                use("s3://b", tmp_path)
            assert len(Here.asked) < 6, name
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.skipif(not OTHER, reason="only tools/ceph_gateway.py has a second region")
def test_a_bucket_of_another_region_of_a_real_store(
    s3: str, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """botocore alone would ask for its region without end."""
    (tmp_path / "a.txt").write_text("text")
    file.write(f"{bucket}/a.txt", "text")
    monkeypatch.setenv("S3_ENDPOINT", OTHER)
    until = time.monotonic() + 60
    # The gateway of the other region hears of new users and buckets some seconds later.
    while time.monotonic() < until:
        try:
            file.list_directory(bucket)
        except (PermissionError, FileNotFoundError):
            time.sleep(0.5)
        except OSError:
            break
    for use in USES.values():
        with pytest.raises(OSError, match=re.escape(f"in another region than {OTHER} (")) as caught:
            use(bucket, tmp_path)
        assert f"it is at {s3}: set S3_ENDPOINT={s3}" in str(caught.value)
    monkeypatch.setenv("S3_ENDPOINT", s3)
    for use in USES.values():
        use(bucket, tmp_path)
