"""Listings of very many keys go page by page and hold no more than their result."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from moxing.framework import file as mox

KEYS = 100_000


class _Lister(BaseHTTPRequestHandler):
    """Answers listings of 100,000 keys `d00/000000` to `d99/099999`, a page at a time.

    It knows only the first version of the request, and takes the second for it, as OBS does.
    """

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        marker = query.get("marker", [""])[0]
        start = int(marker.rpartition("/")[2]) + 1 if marker else 0
        stop = min(start + int(query.get("max-keys", ["1000"])[0]), KEYS)
        entries = "".join(
            f"<Contents><Key>d{n // 1000:02}/{n:06}</Key><Size>3</Size><ETag>&quot;e&quot;</ETag>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for n in range(start, stop)
        )
        cut = "true" if stop < KEYS else "false"
        body = (
            "<?xml version='1.0'?><ListBucketResult><Name>b</Name><EncodingType>url</EncodingType>"
            f"<IsTruncated>{cut}</IsTruncated>{entries}</ListBucketResult>"
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.send_response(404 if self.path.count("/") > 1 else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def many(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """URL of a bucket with 100,000 keys."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), getattr(request, "param", _Lister))
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    monkeypatch.setenv("S3_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    yield "s3://many"
    server.shutdown()
    server.server_close()


# Run in a process of its own, as the most memory a process ever had can't be set back.
MEASURE = """
import resource, sys
from moxing.framework import file as mox
used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
mox.exists(sys.argv[1])
before = used()
size = mox.get_size(sys.argv[1], recursive=True)
added = used()
names = mox.list_directory(sys.argv[1], recursive=True)
print(size, len(names), names[1], added - before, used() - added)
"""


class _Stuck(_Lister):
    """Answers every listing with its first page."""

    def do_GET(self) -> None:
        self.path = self.path.replace("marker=", "ignored=")
        super().do_GET()


@pytest.mark.parametrize("many", [_Stuck], indirect=True)
def test_a_listing_that_never_ends_is_given_up(many: str) -> None:
    mox.set_auth(list_max_keys=2)
    with pytest.raises(mox.MoxFileRespException, match="does not get beyond 'd00/000001'"):
        mox.list_directory(many, recursive=True)


@pytest.mark.slow
def test_listing_holds_its_result_and_one_page(many: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", MEASURE, many], capture_output=True, text=True, timeout=240
    )
    assert ended.returncode == 0, ended.stderr
    size, count, name, adding, listing = ended.stdout.split()
    assert (int(size), int(count), name) == (3 * KEYS, KEYS + KEYS // 1000, "d00/000000")
    # In MiB: a page and its parsed answer, and then the names, of about 60 bytes each.
    assert int(adding) < 20
    assert int(listing) < 30
