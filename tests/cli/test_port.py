"""`mox port` shows or writes what a program of Python 2 becomes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from moxing.cli import main


def test_a_diff_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = tmp_path / "old.py"
    old.write_text("import os\nprint 'x', 1 / 2\n")

    assert main.main(["port", str(old)]) == 0
    assert capsys.readouterr().out == (
        f"--- {old}\n+++ {old}\n@@ -1,2 +1,2 @@\n"
        " import os\n-print 'x', 1 / 2\n+print('x', 1 // 2)\n"
    )
    assert old.read_text() == "import os\nprint 'x', 1 / 2\n"


def test_the_file_is_written_in_its_encoding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old.py"
    old.write_bytes("# coding: gbk\nprint '中'\n".encode("gbk"))
    old.chmod(0o755)

    assert main.main(["port", str(old), "--write"]) == 0
    assert capsys.readouterr().err == f"mox: {old} is Python 3 now.\n"
    assert old.read_bytes() == "# coding: gbk\nprint('中')\n".encode("gbk")
    assert old.stat().st_mode & 0o777 == 0o755
    assert [path.name for path in tmp_path.iterdir()] == ["old.py"]

    assert main.main(["port", str(old), "--write"]) == 0
    assert capsys.readouterr().err == f"mox: {old} is Python 3 already.\n"


def test_files_that_cannot_be_ported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("print 'x'\nx = = 1\n")

    assert main.main(["port", str(tmp_path / "none.py"), str(bad)]) == 1
    assert capsys.readouterr().err == (
        f"mox: error: cannot read {tmp_path}/none.py: No such file or directory.\n"
        f"mox: error: {bad}, line 1 is not Python 3: print 'x' (Missing parentheses in call to"
        " 'print'. Did you mean print(...)?). This looks like Python 2, but is not Python 2 either:"
        " see line 2.\n"
    )


@pytest.mark.parametrize("cache", ["fresh", "no folder"])
def test_the_grammars_tables_are_made_silently(cache: str, tmp_path: Path) -> None:
    """At the first time on a machine, and each time where nothing can be kept."""
    program = tmp_path / "old.py"
    program.write_text("print 'x'\n")
    home = tmp_path / cache
    if cache == "no folder":
        home.touch()

    done = subprocess.run(
        [sys.executable, "-m", "moxing", "port", program],
        env={**os.environ, "XDG_CACHE_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "+print('x')" in done.stdout


def test_what_has_no_end_is_no_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["port", "/dev/zero"]) == 1
    assert capsys.readouterr().err == (
        "mox: error: cannot read /dev/zero: it has more than 16,777,216 bytes.\n"
    )


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("print 'x'\n")
    (tmp_path / "link.py").symlink_to("old.py")
    (tmp_path / "link.py.new").symlink_to("precious")
    (tmp_path / "precious").write_text("kept")

    assert main.main(["port", str(tmp_path / "link.py"), "--write"]) == 0
    assert (tmp_path / "link.py").is_symlink()
    assert (tmp_path / "old.py").read_text() == "print('x')\n"
    assert (tmp_path / "precious").read_text() == "kept"
