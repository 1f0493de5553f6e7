"""background_sync_copy keeps a copy up to date and never stops the program."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from moxing.errors import MoxValueError
from moxing.framework import file as mox


def test_rounds_copy_new_and_changed_files_only(bucket: str, tmp_path: Path) -> None:
    src = tmp_path / "src"
    running = mox.background_sync_copy(src, f"{bucket}/dst", seconds=3600)
    try:
        assert running.sync() == 0
        src.mkdir()
        (src / "a").write_text("1")
        (src / "b").write_text("2")
        assert running.sync() == 2
        assert running.sync() == 0
        (src / "a").write_text("3")
        os.utime(src / "a", ns=(1, 1))
        assert running.sync() == 1
        (src / "a").unlink()
        (src / "b").write_text("22")
    finally:
        running.stop()
    assert mox.read(f"{bucket}/dst/a") == "3"
    assert mox.read(f"{bucket}/dst/b") == "22"


def test_rounds_come_by_themselves(bucket: str, tmp_path: Path) -> None:
    running = mox.background_sync_copy(tmp_path, bucket, seconds=0.05)
    try:
        (tmp_path / "a").write_text("x")
        until = time.monotonic() + 240
        while not mox.exists(f"{bucket}/a") and time.monotonic() < until:
            time.sleep(0.05)
        assert mox.read(f"{bucket}/a") == "x"
    finally:
        running.stop()


def test_errors_are_logged_and_tried_again(
    proxy: Any, bucket: str, tmp_path: Path, caplog: Any
) -> None:
    mox.set_auth(retry=1)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a").write_text("x")
    running = mox.background_sync_copy(tmp_path / "src", bucket, seconds=3600)
    proxy.away = True
    running._try()
    assert f"Copying {tmp_path}/src to {bucket} in the background: 1 of 1 files" in caplog.text
    proxy.away = False
    running.stop()
    assert mox.read(f"{bucket}/a") == "x"


def test_from_a_store_to_the_disk(bucket: str, tmp_path: Path) -> None:
    mox.write(f"{bucket}/a", "1")
    running = mox.background_sync_copy(bucket, tmp_path / "dst", seconds=3600)
    assert (running.sync(), running.sync()) == (1, 0)
    mox.write(f"{bucket}/a", "2")
    running.stop()
    assert (tmp_path / "dst" / "a").read_text() == "2"


@pytest.mark.slow
def test_last_round_at_the_end_of_the_program(bucket: str, tmp_path: Path) -> None:
    code = (
        "from moxing.framework import file as mox\n"
        f"mox.background_sync_copy({str(tmp_path)!r}, {bucket!r}, seconds=120)\n"
        f"open({str(tmp_path / 'a')!r}, 'w').write('last words')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    assert mox.read(f"{bucket}/a") == "last words"


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(MoxValueError, match=r"background_sync_copy\(seconds=0\) must be above 0"):
        mox.background_sync_copy(tmp_path, tmp_path / "x", seconds=0)
    with pytest.raises(MoxValueError, match="onto itself"):
        mox.background_sync_copy(tmp_path, f"{tmp_path}/")
