"""What the documentation shows is true: its programs run, its commands succeed, its output appears.

A Python block with a `title` is a program and is written to a file of that name. A shell block
after `<!-- run -->` is executed beside it. A text block after `<!-- output -->` must be in what the
last command printed, where numbers may differ and `...` stands for anything; after
`<!-- output within 0.01 -->` they may differ by that much only.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import warm

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
README, CHINESE = ROOT / "README.md", ROOT / "README.zh-CN.md"
BLOCK = re.compile(
    r"^(?:<!-- (?P<marker>\w+)(?: within (?P<within>[0-9.]+))? -->\n)?"
    r"```(?P<language>\w*)(?P<info>[^\n]*)\n(?P<body>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
NUMBER = r"[-+]?[0-9][0-9.]*(?:e[-+]?[0-9]+)?"
TIMEOUT_SECONDS = 500


@dataclass(frozen=True)
class Block:
    marker: str
    language: str
    title: str
    body: str
    within: float | None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            found["marker"] or "",
            found["language"],
            title(found["info"]),
            found["body"],
            float(found["within"]) if found["within"] else None,
        )
        for found in BLOCK.finditer(text)
    ]


def title(info: str) -> str:
    found = re.search(r'title="([^"]+)"', info)
    return found[1] if found else ""


def pattern(line: str) -> str:
    """A line of expected output as a regular expression."""
    parts = re.split(rf"(\.\.\.|{NUMBER})", line.strip())
    return "".join(
        ".*" if part == "..." else NUMBER if re.fullmatch(NUMBER, part) else re.escape(part)
        for part in parts
    )


def appears(line: str, printed: str, within: float | None) -> bool:
    """Whether a line like the expected one was printed, with numbers that are near enough."""
    parts = re.split(rf"(\.\.\.|{NUMBER})", line.strip())
    wanted = [float(part) for part in parts[1::2] if part != "..."]
    shape = pattern(line).replace(NUMBER, f"({NUMBER})")
    for found in re.finditer(shape, printed):
        numbers = [float(text.rstrip(".")) for text in found.groups()]
        pairs = zip(numbers, wanted, strict=True)
        if within is None or all(abs(number - one) <= within for number, one in pairs):
            return True
    return False


def run(script: str, folder: Path, forks: bool) -> str:
    """What a shell prints for a block of commands, which must all succeed.

    Args:
        script: the commands.
        folder: where they run.
        forks: whether `python FILE` is a fork of a process that has imported TensorFlow.
    """
    folders = [str(warm.commands()), str(Path(sys.executable).parent), os.environ["PATH"]]
    done = subprocess.run(
        ["bash", "-euc", script],
        cwd=folder,
        env={**warm.forking(files=forks), "PATH": os.pathsep.join(folders)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert done.returncode == 0, f"$ {script}\n{done.stdout}"
    return done.stdout


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def runnable(page: Path) -> bool:
    """Whether a page has commands to run; those of the Chinese README are the English one's."""
    return page != CHINESE and any(block.marker == "run" for block in blocks(page))


def test_readme_shows_the_same_code_in_both_languages() -> None:
    def code(page: Path) -> list[str]:
        return [re.sub("#.*", "", block.body) for block in blocks(page)]

    assert code(CHINESE) == code(README)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)], ids=name)
def test_commands_of_a_page_do_what_it_says(page: Path, tmp_path: Path, data_dir: Path) -> None:
    for name in ("mnist", "flowers"):
        (tmp_path / name).symlink_to(data_dir / name)
    printed = ""
    for block in blocks(page):
        if block.title:
            (tmp_path / block.title).write_text(block.body, encoding="utf-8")
        elif block.marker == "run":
            printed = run(block.body, tmp_path, forks=page != README)
        elif block.marker == "output":
            for line in filter(str.strip, block.body.splitlines()):
                assert appears(line, printed, block.within), f"{line!r} is not in\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_python_of_a_page_is_python(page: Path) -> None:
    for block in blocks(page):
        if block.language == "python":
            # A fragment may be the inside of a function.
            compile(f"def fragment():\n{indented(block.body)}\n    pass", name(page), "exec")


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_blocks_of_a_page_are_understood(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = blocks(page)
    assert text.count("\n```") == 2 * len(found), "a block is not closed"
    for block in found:
        assert block.marker in ("", "run", "output")
        assert not block.title or block.title.endswith(".py")
    # Each comment marks a block, but for those around the tables of `make migration`.
    comments = re.findall(r"(?m)^<!--(?! (?:table: \w+|end) -->$)", text)
    assert len(comments) == sum(bool(block.marker) for block in found)


def test_every_program_is_run() -> None:
    for page in PAGES:
        commands = "".join(block.body for block in blocks(page) if block.marker == "run")
        for block in blocks(page):
            assert not block.title or block.title in commands, f"{block.title} in {name(page)}"


def test_expected_lines_match_what_they_should() -> None:
    line = "step: 50(global step: 50)\tsample/sec: ...\tloss: 0.5"
    assert re.fullmatch(pattern(line), "step: 50(global step: 50)\tsample/sec: 9\tloss: 1.2e-05")
    assert not re.search(pattern(line), "step: 50(global step: 50)\tloss: 0.5")
    assert not re.search(pattern("Saved to out/1/."), "Saved to out/x/.")


def test_numbers_are_near_where_a_page_says_so() -> None:
    printed = "slope 2.86\nstep 7\tslope 3.004\tin 1.5e-03 s."
    assert appears("slope 3.00", printed, None)
    assert appears("slope 3.00", printed, 0.01)
    assert not appears("slope 3.02", printed, 0.01)
    assert appears("step 7\tslope 3.00\tin ... s.", printed, 0.01)
    assert not appears("step 8\tslope 3.00\tin ... s.", printed, 0.01)
