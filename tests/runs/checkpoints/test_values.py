"""Values go from format to format unchanged."""

from __future__ import annotations

import resource
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.cli.main import main
from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.errors import CheckpointError, MoxValueError
from moxing.runs.checkpoints import source, target

Make = Callable[..., str]
BFLOAT16 = tf.bfloat16.as_numpy_dtype
VALUES = {
    "w": np.arange(6, dtype=np.float32).reshape(2, 3),
    "scope/half": np.asarray([1.5, np.nan, np.inf], np.float16),
    "brain": np.asarray([[1.0, -2.0]], BFLOAT16),
    "flag": np.asarray(True),
    "big": np.asarray([2**62], np.int64),
    "empty": np.zeros([0, 4], np.float32),
}


def _same(first: np.ndarray, second: np.ndarray) -> bool:
    return (first.dtype, first.shape, first.tobytes()) == (
        second.dtype,
        second.shape,
        second.tobytes(),
    )


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ""])
def test_there_and_back(tmp_path: Path, make: Make, suffix: str) -> None:
    read = source.read(make(tmp_path / "run", 50, VALUES))

    written = target.write(read, str(tmp_path / f"weights{suffix}"))
    again = source.read(target.write(source.read(written), str(tmp_path / "back" / "model.ckpt")))

    assert (read.step, again.step) == (50, 50)
    assert set(again.arrays) == {*VALUES, "global_step"}
    for name, value in VALUES.items():
        # NumPy's files have no bfloat16, so that float32 stands there.
        wanted = value.astype(np.float32) if (suffix, name) == (".npz", "brain") else value
        assert _same(again.arrays[name], wanted), name


def test_a_written_checkpoint_is_one_of_ours(tmp_path: Path, make: Make) -> None:
    read = source.read(make(tmp_path / "run", 50, VALUES))
    folder = tmp_path / "new"
    folder.mkdir()

    prefix = target.write(read, str(folder))

    assert prefix == str(folder / "model.ckpt-50")
    assert newest(folder) == Checkpoint(prefix, 50)
    assert tf.train.latest_checkpoint(str(folder)) == prefix
    assert not [name for name in folder.iterdir() if "tmp" in name.name]


@pytest.mark.parametrize("name", ["average", "average.npz"])
def test_a_name_without_a_folder_is_one_in_the_current_folder(
    name: str, tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = source.read(make(tmp_path / "run", 3, {"w": 4.0}))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    assert target.write(read, name) == name

    assert source.read(name).arrays["w"] == 4.0
    assert (tmp_path / "here" / "checkpoint").exists() == (name == "average")


def test_a_folder_stands_for_its_newest_checkpoint(tmp_path: Path, make: Make) -> None:
    make(tmp_path, 1, {"w": 1.0})
    make(tmp_path, 2, {"w": 2.0})

    assert source.read(str(tmp_path)).arrays["w"] == 2.0


def test_text_goes_into_checkpoints_only(tmp_path: Path, make: Make) -> None:
    read = source.read(make(tmp_path / "run", 1, {"words": np.asarray([b"a", b"bc"], object)}))

    with pytest.raises(MoxValueError, match="variable words holds text"):
        target.write(read, str(tmp_path / "a.npz"))
    written = target.write(read, str(tmp_path / "model.ckpt"))
    assert list(source.read(written).arrays["words"]) == [b"a", b"bc"]


@pytest.mark.parametrize("name", ["model.ckpt-1", "weights.npz"])
def test_nothing_is_overwritten(tmp_path: Path, make: Make, name: str) -> None:
    read = source.read(make(tmp_path, 1, {"w": 1.0}))
    (tmp_path / "weights.npz").write_bytes(b"mine")

    with pytest.raises(MoxValueError, match="already"):
        target.write(read, str(tmp_path / name))
    assert (tmp_path / "weights.npz").read_bytes() == b"mine"


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize("content", [b"", b"junk", b"\xff" * 5000])
def test_damaged_files_are_named(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"weights{suffix}"
    path.write_bytes(content)

    with pytest.raises(MoxValueError, match=str(path)):
        source.read(str(path))


HUGE = (
    b"\x93NUMPY\x01\x00\x76\x00"
    + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,)}".ljust(117)
    + b"\n"
)


@pytest.mark.parametrize("member", [b"", b"no array", HUGE, HUGE[:40]], ids=range(4))
def test_an_archive_with_what_is_no_array_is_named(tmp_path: Path, member: bytes) -> None:
    path = tmp_path / "weights.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("w.npy", member)

    with pytest.raises(MoxValueError, match=f"{path} is no archive of NumPy that can be read"):
        source.read(str(path))


@pytest.mark.parametrize("name", ["model.ckpt-3", "w.npz"])
def test_a_disk_that_takes_no_more_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    np.savez(tmp_path / "whole.npz", w=np.random.default_rng(1).random(100_000))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        code = main(["convert", "checkpoint", str(tmp_path / "whole.npz"), str(tmp_path / name)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert code == 1
    told = capsys.readouterr().err
    assert told.startswith("mox: error: ")
    assert str(tmp_path / name) in told
    assert "File too large" in told
    assert len(told.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir() if name in path.name] == []


def test_objects_in_an_archive_are_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "weights.npz"
    np.savez(path, w=np.asarray([{}], object))

    with pytest.raises(MoxValueError, match="without objects"):
        source.read(str(path))


def test_a_checkpoint_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="No checkpoint at the path"):
        source.read(str(tmp_path / "model.ckpt-1"))


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)

    with pytest.raises(MoxValueError, match=r"pip install 'openmox\[safetensors\]'"):
        source.read(str(tmp_path / "weights.safetensors"))
