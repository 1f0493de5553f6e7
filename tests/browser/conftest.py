"""A real Chromium without a window, as `make test-real` brings it; without it no test."""

from __future__ import annotations

import functools
import os
import shutil
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

webdriver = pytest.importorskip("selenium.webdriver")

# Named by tools/chromium.py, so that `make test` does not run the same tests once more.
collect_ignore_glob = [] if "MOX_BROWSER" in os.environ else ["test_*.py"]
WIDTHS = (1400, 400)  # A desk and a telephone, in CSS pixels.
# The elements that reach over the right edge, and that no element around them lets one scroll.
TOO_WIDE = """
const wide = document.documentElement.clientWidth;
const scrolls = (e) => e && (/auto|scroll|hidden|clip/.test(getComputedStyle(e).overflowX)
  || scrolls(e.parentElement));
return [...document.body.querySelectorAll("*")]
  .filter((e) => e.getClientRects().length && e.getBoundingClientRect().right > wide + 1)
  .filter((e) => !scrolls(e.parentElement) && !e.closest("[hidden], .md-search, .md-sidebar"))
  .map((e) => e.tagName + ": " + e.textContent.trim().slice(0, 60));
"""
BROKEN_PICTURES = (
    "return [...document.images].filter((i) => !i.complete || !i.naturalWidth).map((i) => i.src);"
)


@pytest.fixture(params=WIDTHS)
def width(request: pytest.FixtureRequest) -> int:
    """Each of the widths that pages are looked at."""
    return request.param


class Browser:
    """A window whose width a test sets."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, url: str, width: int) -> None:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.get(url)

    def faults(self) -> list[str]:
        """Whatever a reader of the open page would see as broken, and the console's errors."""
        faults = [f"too wide: {e}" for e in self.driver.execute_script(TOO_WIDE)]
        faults += [f"no picture: {src}" for src in self.driver.execute_script(BROKEN_PICTURES)]
        return faults + [
            f"console: {entry['message']}"
            for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE"
        ]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    profile = tmp_path_factory.mktemp("profile")
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(word)
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(str(shutil.which("chromedriver"))))
    driver.set_page_load_timeout(60)
    yield Browser(driver)
    driver.quit()


class _Quiet(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/favicon.ico":  # Browsers ask for it on their own.
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


@pytest.fixture(scope="session")
def serve() -> Iterator[Any]:
    """A function that serves a folder on this machine alone, and returns its URL."""
    servers: list[ThreadingHTTPServer] = []

    def start(folder: Path) -> str:
        handler = functools.partial(_Quiet, directory=str(folder))
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
