"""Files of a store that are read in order, and how many of them are on the disk meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from moxing.framework import file
from moxing.framework.file import ahead


def test_copies_come_in_order_and_two_at_most_are_kept(
    folder_bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOX_FILE_CACHE_DIR", str(tmp_path / "cache"))
    urls = [f"{folder_bucket}/{n}/data" for n in range(6)]
    for n, url in enumerate(urls):
        file.write(url, str(n))
    local = tmp_path / "local"
    local.write_text("6")
    found = []
    for path in ahead.copies([*urls, str(local)]):
        found.append(Path(path).read_text())
        assert len(list((tmp_path / "cache").rglob("data"))) <= 2
    assert found == list("0123456")
    assert local.exists()
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_file_that_is_missing_is_said_in_its_turn(folder_bucket: str, tmp_path: Path) -> None:
    file.write(f"{folder_bucket}/a", "a")
    found = ahead.contents([f"{folder_bucket}/a", f"{folder_bucket}/b"])
    assert next(found) == b"a"
    with pytest.raises(FileNotFoundError, match="s3://bucket/b"):
        next(found)
