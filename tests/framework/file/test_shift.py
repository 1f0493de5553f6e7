"""shift('os', 'mox') lets ordinary code take URLs and changes nothing for local paths."""

from __future__ import annotations

import builtins
import codecs
import glob
import io
import os
import pickle
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest

from moxing.errors import MoxValueError
from moxing.framework import file as mox

NAMES: dict[Any, tuple[str, ...]] = {
    builtins: ("open",),
    io: ("open",),
    os: ("listdir", "scandir", "walk", "stat", "mkdir", "makedirs", "remove", "unlink", "rmdir")
    + ("rename", "replace"),
    os.path: ("exists", "lexists", "isfile", "isdir", "getsize", "getmtime"),
    glob: ("glob", "iglob"),
    shutil: ("copyfile", "copy", "copy2", "copytree", "move", "rmtree"),
}
CHANGED = [(place, name) for place, names in NAMES.items() for name in names]


@pytest.fixture
def shifted() -> Iterator[None]:
    mox.shift("os", "mox")
    yield
    mox.shift("mox", "os")


def test_there_and_back_again() -> None:
    before = {(place.__name__, name): getattr(place, name) for place, name in CHANGED}
    sets = [set(os.supports_fd), set(os.supports_dir_fd), set(os.supports_follow_symlinks)]
    mox.shift("os", "mox")
    mox.shift("os", "mox")
    for place, name in CHANGED:
        assert getattr(place, name) is not before[place.__name__, name], name
    assert io.open is open
    mox.shift("mox", "os")
    mox.shift("mox", "os")
    for place, name in CHANGED:
        assert getattr(place, name) is before[place.__name__, name], name
    after = [set(os.supports_fd), set(os.supports_dir_fd), set(os.supports_follow_symlinks)]
    assert after == sets


@pytest.mark.parametrize("arguments", [("os", "os"), ("mox", "mox"), ("OS", "mox"), ("", "")])
def test_other_arguments(arguments: tuple[str, str]) -> None:
    with pytest.raises(MoxValueError, match=r"use shift\('os', 'mox'\), or shift\('mox', 'os'\)"):
        mox.shift(*arguments)


def test_somebody_elses_patch_is_left_alone() -> None:
    original = os.listdir

    def theirs(path: Any = ".") -> list[str]:
        return original(path)

    mox.shift("os", "mox")
    try:
        os.listdir = theirs
        mox.shift("mox", "os")
        assert os.listdir is theirs
    finally:
        os.listdir = original


@pytest.mark.parametrize("fixture", ["bucket", "folder_bucket"])
def test_urls_in_ordinary_code(
    request: pytest.FixtureRequest, fixture: str, tmp_path: Path, shifted: None
) -> None:
    base = request.getfixturevalue(fixture)
    os.makedirs(f"{base}/d/e")
    with pytest.raises(FileExistsError):
        os.makedirs(f"{base}/d/e")
    os.makedirs(f"{base}/d/e", exist_ok=True)
    os.mkdir(f"{base}/m")
    with open(f"{base}/d/a.txt", "w", encoding="utf-8") as file:
        file.write("hällo\n")
    with open(file=f"{base}/d/a.txt", encoding="utf-8") as file:
        assert file.readlines() == ["hällo\n"]
    with codecs.open(f"{base}/d/a.txt", "r", "utf-8") as file:
        assert file.read() == "hällo\n"
    assert sorted(os.listdir(base)) == ["d", "m"]
    assert [entry.name for entry in os.scandir(f"{base}/d") if entry.is_file()] == ["a.txt"]
    assert [root for root, _, _ in os.walk(base)] == [base, f"{base}/d", f"{base}/d/e", f"{base}/m"]
    assert os.path.exists(f"{base}/d")
    assert os.path.isdir(f"{base}/d")
    assert not os.path.isfile(f"{base}/d")
    assert os.path.isfile(f"{base}/d/a.txt")
    assert os.path.getsize(f"{base}/d/a.txt") == 7
    found = os.stat(f"{base}/d/a.txt")
    assert (found.st_size, stat.S_ISREG(found.st_mode)) == (7, True)
    assert os.path.getmtime(f"{base}/d/a.txt") == found.st_mtime > 1.5e9
    assert glob.glob(f"{base}/*/*.txt") == [f"{base}/d/a.txt"]
    assert list(glob.iglob(f"{base}/**/*.txt", recursive=True)) == [f"{base}/d/a.txt"]
    assert shutil.copyfile(f"{base}/d/a.txt", tmp_path / "here") == tmp_path / "here"
    assert shutil.copy(tmp_path / "here", f"{base}/m") == f"{base}/m/here"
    os.rename(f"{base}/m/here", f"{base}/m/there")
    shutil.copytree(f"{base}/d", tmp_path / "tree")
    assert (tmp_path / "tree" / "a.txt").read_text(encoding="utf-8") == "hällo\n"
    with pytest.raises(FileExistsError):
        shutil.copytree(f"{base}/d", tmp_path / "tree")
    with pytest.raises(OSError, match="not empty"):
        os.rmdir(f"{base}/m")
    os.remove(f"{base}/m/there")
    shutil.move(f"{base}/d", f"{base}/moved")
    shutil.rmtree(f"{base}/moved")
    shutil.rmtree(f"{base}/moved", ignore_errors=True)
    assert not os.path.exists(f"{base}/moved")
    with pytest.raises(FileNotFoundError):
        open(f"{base}/none")  # noqa: SIM115
    np.save(f"{base}/a.npy", np.arange(3))
    np.testing.assert_array_equal(np.load(f"{base}/a.npy"), np.arange(3))


def _local_work(base: Path) -> list[Any]:
    """What ordinary code gets from local files, as plain values."""
    base.mkdir()
    said: list[Any] = []
    path = str(base / "t.txt")
    with open(path, "w", encoding="latin-1", newline="\r\n") as file:
        said += [type(file), file.mode, file.encoding, file.write("ä\nb\n")]
    with open(path, "rb", 0) as raw:
        said += [type(raw), raw.read(), raw.fileno() > 2]
    with codecs.open(path, "r", "latin-1") as coded:
        said += [type(coded), coded.read()]
    coded: Any
    with codecs.open(path, "wb+") as coded:
        coded.write(b"\xff\xfe")
        coded.seek(0)
        said += [type(coded), coded.read()]
    with open(os.open(path, os.O_RDONLY)) as file, pytest.raises(UnicodeDecodeError):
        file.read()
    frame: Any = pd.DataFrame({"x": [1, 2], "y": ["ä", "b"]})
    data: Any
    frame.to_csv(base / "f.csv", index=False)
    frame.to_pickle(base / "f.pkl.gz")
    said += [(base / "f.csv").read_bytes(), pd.read_csv(base / "f.csv").to_json()]
    said += [pd.read_pickle(base / "f.pkl.gz").to_json()]
    with h5py.File(base / "h.h5", "w") as data:
        data["x"] = np.arange(5)
    with h5py.File(base / "h.h5", "r") as data:
        said += [data["x"][:].tolist(), data.mode]
    np.save(base / "n", np.arange(4))
    np.savez_compressed(base / "z.npz", a=np.eye(2))
    np.arange(3, dtype=np.int32).tofile(base / "raw")
    said += [np.load(base / "n.npy", mmap_mode="r").tolist(), np.load(base / "z.npz")["a"].tolist()]
    said += [np.fromfile(base / "raw", np.int32).tolist()]
    with open(base / "p", "wb") as file:
        pickle.dump(said[:2], file)
    said += [pickle.loads((base / "p").read_bytes())]
    (base / "d" / "e").mkdir(parents=True)
    os.symlink("nowhere", base / "d" / "link")
    shutil.copytree(base / "d", base / "d2", symlinks=True)
    said += [os.readlink(base / "d2" / "link"), sorted(os.listdir(os.fspath(base)))]
    said += [sorted(os.listdir(os.fsencode(base))), sorted(glob.glob("*", root_dir=base))]
    said += [[entry.name for entry in os.scandir(base / "d") if entry.is_dir()]]
    said += [sorted(os.path.relpath(root, base) for root, _, _ in os.walk(base))]
    said += [type(os.stat(base)), os.path.isdir(base), os.path.lexists(base / "d" / "link")]
    said += [
        os.path.exists(base / "d" / "link"),
        os.stat(base / "d/link", follow_symlinks=False)[6],
    ]
    fd = os.open(base, os.O_RDONLY)
    said += [sorted(os.listdir(fd)), os.stat("p", dir_fd=fd).st_size, os.path.exists(fd)]
    os.close(fd)
    shutil.rmtree(base / "d2")
    for function, wrong in ((open, base / "none"), (os.listdir, path), (os.stat, "")):
        with pytest.raises(OSError) as error:  # noqa: PT011
            function(wrong)
        said += [type(error.value), error.value.errno]
    return said


def test_local_files_are_handled_bit_for_bit_as_before(tmp_path: Path) -> None:
    plain = _local_work(tmp_path / "plain")
    mox.shift("os", "mox")
    try:
        shifted = _local_work(tmp_path / "other")
    finally:
        mox.shift("mox", "os")
    assert shifted == plain
    for path in sorted((tmp_path / "plain").rglob("*")):
        twin = tmp_path / "other" / path.relative_to(tmp_path / "plain")
        # Archives and gzip hold the time they were made, HDF5 too.
        if path.is_file() and path.suffix not in (".npz", ".gz", ".h5"):
            assert twin.read_bytes() == path.read_bytes(), path


def test_functions_can_still_be_pickled(shifted: None) -> None:
    for place, name in CHANGED:
        function = getattr(place, name)
        assert pickle.loads(pickle.dumps(function)) is function, name


def test_functions_keep_their_names_and_texts(shifted: None) -> None:
    assert os.listdir.__name__ == "listdir"
    assert "list containing the names" in (os.listdir.__doc__ or "")
    assert shutil.rmtree.avoids_symlink_attacks  # type: ignore[attr-defined]
    assert os.stat in os.supports_follow_symlinks
    assert os.stat in os.supports_dir_fd


@pytest.mark.slow
def test_modules_imported_after_the_shift(tmp_path: Path) -> None:
    code = (
        "from moxing.framework import file; file.shift('os', 'mox')\n"
        "import tempfile, tarfile, zipfile, pathlib, multiprocessing, tokenize, gzip, shelve\n"
        "import importlib.resources, linecache, inspect, json\n"
        "with tempfile.TemporaryDirectory() as d:\n"
        "    p = pathlib.Path(d) / 'x'; p.write_text('a'); assert p.read_text() == 'a'\n"
        "    tarfile.open(d + '/t.tar', 'w').add(p); gzip.open(d + '/g', 'w').close()\n"
        "assert not pathlib.Path(d).exists()\n"
        "print(inspect.getsource(json.dumps)[:9])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=240
    )
    assert (ended.returncode, ended.stdout) == (0, "def dumps\n"), ended.stderr
