"""A small HTTP proxy that stands before a store and fails on demand."""

from __future__ import annotations

import http.client
import socketserver
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

# What can go wrong with one request.
REFUSE = "503 instead of an answer"
HANG_UP = "the connection closes before the request is read"
LOSE = "the request is carried out and its answer lost"
CUT = "half of the answer"
FAULTS = (REFUSE, HANG_UP, LOSE, CUT)


class FaultyProxy:
    """Hands requests on to `target`, an URL, except for those that shall fail.

    Attributes:
      url: where it listens.
      every: each request of this number fails; 0 for none.
      faults: how they fail, in turn.
      away: whether the store is out of reach: connections close at once.
      wait: seconds before each answer.
      rate: bytes a second of each answer's body; 0 for as fast as it goes.
      seen: method and path of each request, in order.
    """

    def __init__(self, target: str, tls: ssl.SSLContext | None = None) -> None:
        parts = urlsplit(target)
        self.target = (parts.hostname or "", parts.port or 80)
        self.every = 0
        self.faults: Sequence[str] = FAULTS
        self.away = False
        self.wait = 0.0
        self.rate = 0.0
        self.seen: list[tuple[str, str]] = []
        self.failed = 0
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.proxy = self
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Stops listening."""
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def gone_for(self, seconds: float) -> Iterator[None]:
        """The store is away for some time from now on."""
        self.away = True
        timer = threading.Timer(seconds, self._come_back)
        timer.start()
        try:
            yield
        finally:
            timer.join()

    def fault(self, method: str, path: str) -> str | None:
        """What shall happen to the next request."""
        with self._lock:
            self.seen.append((method, path))
            if self.away:
                return HANG_UP
            if not self.every or len(self.seen) % self.every:
                return None
            self.failed += 1
            return self.faults[self.failed % len(self.faults)]

    def _come_back(self) -> None:
        self.away = False


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128
    proxy: FaultyProxy

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are nothing to report."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do(self) -> None:
        proxy = self.server.proxy
        fault = proxy.fault(self.command, self.path)
        if fault == HANG_UP:
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if proxy.wait:
            time.sleep(proxy.wait)
        if fault == REFUSE:
            self.send_error(503, "Slow Down")
            self.close_connection = True
            return
        upstream = http.client.HTTPConnection(*proxy.target, timeout=60)
        upstream.request(self.command, self.path, body, dict(self.headers))
        answer = upstream.getresponse()
        data = answer.read()
        upstream.close()
        if fault == LOSE:
            self.close_connection = True
            return
        self._answer(answer, data, fault == CUT)

    def _answer(self, answer: http.client.HTTPResponse, data: bytes, cut: bool) -> None:
        self.send_response(answer.status, answer.reason)
        dropped = {"transfer-encoding", "connection", "content-length"}
        for name, value in answer.getheaders():
            if name.lower() not in dropped or (
                self.command == "HEAD" and name.lower() == "content-length"
            ):
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self._send(data[: len(data) // 2] if cut else data)
        if cut:
            self.close_connection = True

    def _send(self, data: bytes) -> None:
        rate = self.server.proxy.rate
        step = max(int(rate / 20), 1) if rate else max(len(data), 1)
        for start in range(0, len(data), step):
            self.wfile.write(data[start : start + step])
            if rate:
                time.sleep(0.05)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do
