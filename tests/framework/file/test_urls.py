"""URLs of local files are paths; URLs of stores that can't be reached are refused."""

from __future__ import annotations

import pathlib
from pathlib import Path

import pytest

import moxing.tensorflow as mox
from moxing.errors import MoxValueError
from moxing.framework.file import urls


def test_a_file_url_is_its_path(tmp_path: Path) -> None:
    (tmp_path / "a b").write_text("x")
    for start in ("file://", "file://localhost", "FILE://", "file:"):
        assert mox.file.read(f"{start}{tmp_path}/a%20b") == "x"
    assert urls.text(pathlib.PurePath(f"file://{tmp_path}/data")) == f"{tmp_path}/data"


@pytest.mark.parametrize("url", ["gs://b/x", "hdfs://nn:8020/x", "abfss://c@a/x", "gs:/b/x"])
def test_other_urls_are_refused_by_name(url: str) -> None:
    kind = url.partition(":")[0]
    with pytest.raises(MoxValueError) as caught:
        mox.file.make_dirs(url)
    assert str(caught.value).startswith(
        f"{url}: openmox reads and writes local folders, s3:// and obs://, and {kind}:// is none"
    )
    assert not Path(url).exists()


@pytest.mark.parametrize("scheme", ["s3", "obs"])
def test_a_url_that_lost_a_slash_is_no_folder(scheme: str) -> None:
    with pytest.raises(MoxValueError) as caught:
        urls.named(f"{scheme}:/bkt/x")
    assert f"Write {scheme}://bkt/x, or ./{scheme}:/bkt/x for such a folder" in str(caught.value)
    assert urls.named(f"./{scheme}:/bkt/x") == f"./{scheme}:/bkt/x"


@pytest.mark.parametrize("path", ["s3://b/x", "obs://b/x", "/data/x", "C:/x", "a:b", "hdfs/x"])
def test_what_can_be_reached_stays(path: str) -> None:
    assert urls.text(path) == path


def test_a_run_writes_nothing_where_its_log_dir_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MoxValueError, match="^hdfs://nn/out: openmox reads and writes"):
        mox.run(
            input_fn=lambda mode: None,
            model_fn=lambda inputs, mode: None,
            run_mode=mox.ModeKeys.TRAIN,
            log_dir="hdfs://nn/out",
            max_number_of_steps=1,
        )
    assert not list(tmp_path.iterdir())
