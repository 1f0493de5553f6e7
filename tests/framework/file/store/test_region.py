"""A bucket in another region than the one that the settings name.

moto and Ceph take any region of a signature. AWS does not: it refuses, and names the right one.
"""

from __future__ import annotations

import http.client
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

from moxing.framework import file

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
