"""Every page of the documentation in a browser, as wide as a desk and as narrow as a telephone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        check=True,
        timeout=120,
    )
    return folder


@pytest.mark.slow
def test_no_page_is_too_wide_or_broken(site: Path, browser: Any, serve: Any, width: int) -> None:
    url = serve(site)
    pages = sorted(page.parent.relative_to(site) for page in site.rglob("index.html"))
    assert len(pages) > 30

    faults = {}
    for page in pages:
        browser.open(f"{url}{page}/", width)
        if found := browser.faults():
            faults[str(page)] = found

    assert not faults


@pytest.mark.slow
def test_a_search_finds_a_flag(site: Path, browser: Any, serve: Any) -> None:
    wait = pytest.importorskip("selenium.webdriver.support.wait")
    browser.open(serve(site), 1400)
    box = browser.driver.find_element("css selector", "input.md-search__input")
    browser.driver.execute_script("arguments[0].focus()", box)
    box.send_keys("accumulate_steps")

    def results(driver: Any) -> list[str]:
        found = driver.find_elements("css selector", ".md-search-result__link")
        return [link.get_attribute("href") for link in found]

    links = wait.WebDriverWait(browser.driver, 60).until(results)
    assert any("reference/flags/" in link for link in links)
