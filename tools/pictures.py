"""Makes the pictures of the documentation's front page, from a real run of examples/digits.

    make pictures

docs/pictures/terminal.svg is the screen of a terminal while the run trains, and report.png is the
upper part of the report.html that the run leaves. Needs tmux, chromium and chromedriver.
"""

from __future__ import annotations

import io
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text
from selenium import webdriver

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
DIGITS = ROOT / "examples" / "digits"
COLUMNS, LINES = 104, 22
SECONDS = 600  # For the run, also on a busy machine.
STEPS = 2000
SHOWN = 600  # The screen of about this step holds the command, log lines and the live line.
# Rich's own frame, but for the font, which rich would take from a server on the web.
FRAME = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>.{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace;
font-size: {char_height}px; line-height: {line_height}px; }}
{styles}</style>
<rect width="{width}" height="{height}" rx="8" fill="#22272e"/>
<g transform="translate(12, 12)"><g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def main() -> int:
    missing = [name for name in ("tmux", "chromium", "chromedriver") if not shutil.which(name)]
    if missing:
        print(f"Install {', '.join(missing)}: the pictures are taken with it.", file=sys.stderr)
        return 2
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        screen = train(Path(folder))
        (PICTURES / "terminal.svg").write_text(drawn(screen), encoding="utf-8")
        photograph(Path(folder) / "output" / "report.html", PICTURES / "report.png")
    print(PICTURES.relative_to(ROOT))
    return 0


def train(folder: Path) -> str:
    """Trains in a terminal; returns a screen of the run, with terminal codes."""
    subprocess.run(
        [sys.executable, DIGITS / "make_data.py", folder / "data"], check=True, timeout=SECONDS
    )
    shutil.copy(DIGITS / "train.py", folder)
    mox = Path(sys.executable).with_name("mox")
    (folder / "mox").symlink_to(mox)
    words = ["mox", "run", "train.py", "--data_url=data", "--train_url=output", f"--steps={STEPS}"]
    shell = f"cd {shlex.quote(str(folder))}; clear; PS1='$ '; echo '$ {shlex.join(words)}'; "
    shell += f"PATH=$PWD:$PATH {shlex.join(words)}; touch ended; sleep {SECONDS}"
    tmux = ["tmux", "-L", f"pictures-{os.getpid()}"]
    size = ["-x", str(COLUMNS), "-y", str(LINES)]
    subprocess.run([*tmux, "new-session", "-d", *size, "sh", "-c", shell], check=True)
    try:
        return screen_of(tmux, folder / "ended")
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)


def screen_of(tmux: list[str], ended: Path) -> str:
    """The last screen up to the step that is shown."""
    deadline, chosen = time.monotonic() + SECONDS, ""
    while not ended.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"The run has not ended within {SECONDS} s. Its screen:\n{chosen}")
        time.sleep(0.5)
        screen = subprocess.run(
            [*tmux, "capture-pane", "-e", "-p"], capture_output=True, text=True, check=True
        ).stdout
        steps = [int(word.split("/")[0]) for word in screen.split() if word.endswith(f"/{STEPS}")]
        if not chosen or (steps and steps[-1] <= SHOWN):
            chosen = screen
    return chosen


def drawn(screen: str) -> str:
    """A screen with terminal codes as a picture in SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text.from_ansi(screen.rstrip()), soft_wrap=True)
    return console.export_svg(theme=MONOKAI, code_format=FRAME, unique_id="terminal")


def photograph(page: Path, to: Path) -> None:
    """Writes a picture of the upper part of a page."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(word)
    driver = webdriver.Chrome(options, webdriver.ChromeService(str(shutil.which("chromedriver"))))
    try:
        size = {"width": 1100, "height": 720, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get(page.as_uri())
        driver.save_screenshot(str(to))
    finally:
        driver.quit()


if __name__ == "__main__":
    sys.exit(main())
