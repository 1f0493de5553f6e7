"""The functions of mox.file do the same on a disk, in a store and in a directory of buckets."""

from __future__ import annotations

import os
import stat as modes
from pathlib import Path
from typing import Any

import pytest

from moxing.errors import MoxAttributeError, MoxTypeError, MoxValueError
from moxing.framework import file as mox
from moxing.framework.file import file_io


def _fill(place: str) -> None:
    for name in ("a.txt", "d/b.txt", "d/e/c.bin", "d-x", ".hidden"):
        mox.make_dirs(os.path.dirname(f"{place}/{name}"))
        mox.write(f"{place}/{name}", name)


def test_write_then_read(place: str) -> None:
    mox.write(f"{place}/t.txt", "one\ntwo ü\n")
    assert mox.read(f"{place}/t.txt") == "one\ntwo ü\n"
    assert mox.read(f"{place}/t.txt", binary=True) == "one\ntwo ü\n".encode()
    mox.write(f"{place}/t.txt", b"\x00\xff", binary=True)
    assert mox.read(f"{place}/t.txt", binary=True) == b"\x00\xff"


def test_obs_and_s3_name_the_same_store(bucket: str) -> None:
    mox.write(f"{bucket}/a", "x")
    obs = bucket.replace("s3://", "obs://")
    assert mox.read(f"{obs}/a") == "x"
    assert mox.glob(f"{obs}/*") == [f"{obs}/a"]


def test_append_makes_and_adds(place: str) -> None:
    mox.append(f"{place}/t", "a")
    mox.append(f"{place}/t", "b")
    mox.append(f"{place}/t", b"c", binary=True)
    assert mox.read(f"{place}/t") == "abc"


def test_append_remote(place: str) -> None:
    mox.write(f"{place}/src", "tail")
    mox.append_remote(f"{place}/src", f"{place}/dst")
    mox.append_remote(f"{place}/src", f"{place}/dst")
    assert mox.read(f"{place}/dst") == "tailtail"
    assert mox.read(f"{place}/src") == "tail"


def test_exists_and_kind(place: str) -> None:
    _fill(place)
    for name, there, directory in (
        ("a.txt", True, False),
        ("d", True, True),
        ("d/", True, True),
        ("d/e", True, True),
        ("d/e/c.bin", True, False),
        ("d/e/c.bi", False, False),
        ("a", False, False),
        ("", True, True),
    ):
        path = f"{place}/{name}" if name else place
        assert mox.exists(path) is there, name
        assert mox.is_directory(path) is directory, name
        assert mox.is_file(path) is (there and not directory), name


def test_stat_and_size(place: str) -> None:
    _fill(place)
    found = mox.stat(f"{place}/d/b.txt")
    assert (found.length, found.is_directory) == (7, False)
    assert found.mtime_nsec > 1_500_000_000 * 10**9
    assert modes.S_ISREG(found.st_mode)
    assert mox.stat(f"{place}/d").is_directory
    assert mox.stat(f"{place}/d").length == 0
    assert mox.get_size(f"{place}/d/b.txt") == 7
    assert mox.get_size(f"{place}/d") == 0
    assert mox.get_size(f"{place}/d", recursive=True) == len("d/b.txt") + len("d/e/c.bin")


def test_list_directory(place: str) -> None:
    _fill(place)
    assert mox.list_directory(place) == [".hidden", "a.txt", "d", "d-x"]
    everything = [".hidden", "a.txt", "d", "d-x", "d/b.txt", "d/e", "d/e/c.bin"]
    assert mox.list_directory(place, recursive=True) == everything
    assert mox.list_directory(f"{place}/d/", skip_dir=True) == ["b.txt"]
    assert mox.list_directory(place, recursive=True, skip_file=True) == ["d", "d/e"]


def test_list_directory_keeps_separator_on_request(bucket: str) -> None:
    _fill(bucket)
    assert mox.list_directory(bucket, remove_sep=False) == [".hidden", "a.txt", "d-x", "d/"]


def test_empty_directory_is_listed_and_empty(place: str) -> None:
    mox.make_dirs(f"{place}/empty/inner")
    assert mox.list_directory(place, recursive=True) == ["empty", "empty/inner"]
    assert mox.list_directory(f"{place}/empty/inner") == []


def test_scan_dir(place: str) -> None:
    _fill(place)
    with mox.scan_dir(place) as entries:
        found = {entry.name: entry for entry in entries}
    assert sorted(found) == [".hidden", "a.txt", "d", "d-x"]
    assert found["d"].is_dir()
    assert found["a.txt"].is_file()
    assert found["a.txt"].path == f"{place}/a.txt"
    assert found["a.txt"].stat().st_size == 5
    assert not found["a.txt"].is_symlink()
    assert os.fspath(found["d"]) == f"{place}/d"


def test_walk_and_pruning(place: str) -> None:
    _fill(place)
    walked = [(root, sorted(dirs), sorted(files)) for root, dirs, files in mox.walk(place)]
    assert walked == [
        (place, ["d"], [".hidden", "a.txt", "d-x"]),
        (f"{place}/d", ["e"], ["b.txt"]),
        (f"{place}/d/e", [], ["c.bin"]),
    ]
    bottom_up = [root for root, _, _ in mox.walk(place, topdown=False)]
    assert bottom_up == [f"{place}/d/e", f"{place}/d", place]
    pruned = []
    for root, dirs, _ in mox.walk(place):
        pruned.append(root)
        dirs[:] = [name for name in dirs if name != "e"]
    assert pruned == [place, f"{place}/d"]


def test_walk_of_nothing(place: str) -> None:
    errors: list[OSError] = []
    assert list(mox.walk(f"{place}/nothing", onerror=errors.append)) == []
    assert [isinstance(error, FileNotFoundError) for error in errors] == [True]


@pytest.mark.parametrize(
    ("pattern", "recursive", "names"),
    [
        ("*", False, ["a.txt", "d", "d-x"]),
        ("*.txt", False, ["a.txt"]),
        ("?.txt", False, ["a.txt"]),
        ("[ab].txt", False, ["a.txt"]),
        ("[!a].txt", False, []),
        (".*", False, [".hidden"]),
        ("*/*", False, ["d/b.txt", "d/e"]),
        ("*/", False, ["d/"]),
        ("*/e/*", False, ["d/e/c.bin"]),
        ("d/b.txt", False, ["d/b.txt"]),
        ("d/none", False, []),
        ("none/*", False, []),
        ("**/*.txt", True, ["a.txt", "d/b.txt"]),
        ("d/**", True, ["d/", "d/b.txt", "d/e", "d/e/c.bin"]),
        ("**/e/*", True, ["d/e/c.bin"]),
    ],
)
def test_glob(place: str, pattern: str, recursive: bool, names: list[str]) -> None:
    _fill(place)
    assert mox.glob(f"{place}/{pattern}", recursive) == [f"{place}/{name}" for name in names]


def test_glob_of_a_relative_pattern_is_absolute(
    tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mox.write(f"{tmp_path}/a.jpg", "")
    monkeypatch.chdir(tmp_path)
    assert mox.glob("*.jpg") == [f"{tmp_path}/a.jpg"]


def test_make_directories(place: str) -> None:
    mox.make_dirs(f"{place}/x/y")
    mox.make_dirs(f"{place}/x/y")
    mox.mk_dir(f"{place}/x/z")
    assert mox.list_directory(f"{place}/x") == ["y", "z"]
    with pytest.raises(OSError, match="its parent .*no.* does not exist") as missing:
        mox.mk_dir(f"{place}/no/z")
    assert isinstance(missing.value, FileNotFoundError)
    with pytest.raises(FileExistsError, match="is there already"):
        mox.mk_dir(f"{place}/x")
    mox.write(f"{place}/f", "")
    with pytest.raises(FileExistsError, match="is a file"):
        mox.make_dirs(f"{place}/f")


def test_remove(place: str) -> None:
    _fill(place)
    mox.remove(f"{place}/a.txt")
    assert not mox.exists(f"{place}/a.txt")
    with pytest.raises(IsADirectoryError, match="recursive=True") as refused:
        mox.remove(f"{place}/d")
    assert isinstance(refused.value, mox.MoxFileRespException)
    assert mox.exists(f"{place}/d/b.txt")
    mox.remove(f"{place}/d", recursive=True)
    assert mox.list_directory(place, recursive=True) == [".hidden", "d-x"]
    mox.remove(f"{place}/d-x", recursive=True)
    with pytest.raises(mox.MoxFileNotExistsException, match=r"d-x' does not exist"):
        mox.remove(f"{place}/d-x")


def test_remove_of_a_whole_bucket_keeps_the_bucket(bucket: str) -> None:
    for number in range(12):
        mox.write(f"{bucket}/{number}", "")
    mox.remove(bucket, recursive=True)
    assert mox.list_directory(bucket) == []


def test_rename_file(place: str) -> None:
    mox.write(f"{place}/a", "new")
    mox.write(f"{place}/b", "old")
    mox.rename(f"{place}/a", f"{place}/b")
    assert mox.list_directory(place) == ["b"]
    assert mox.read(f"{place}/b") == "new"
    with pytest.raises(mox.MoxFileNotExistsException, match=r"a' does not exist"):
        mox.rename(f"{place}/a", f"{place}/c")
    mox.rename(f"{place}/b", f"{place}/b")
    assert mox.read(f"{place}/b") == "new"


def test_rename_directory(place: str) -> None:
    _fill(place)
    mox.make_dirs(f"{place}/d/empty")
    mox.rename(f"{place}/d", f"{place}/n")
    names = ["n", "n/b.txt", "n/e", "n/e/c.bin", "n/empty"]
    assert mox.list_directory(place, recursive=True) == [".hidden", "a.txt", "d-x", *names]
    mox.make_dirs(f"{place}/full/x")
    with pytest.raises(OSError, match="not empty"):
        mox.rename(f"{place}/n", f"{place}/full")
    assert mox.read(f"{place}/n/b.txt") == "d/b.txt"
    with pytest.raises((OSError, MoxValueError)):
        mox.rename(f"{place}/n", f"{place}/n/e/in")


def test_rename_across_stores(bucket: str, tmp_path: os.PathLike[str]) -> None:
    _fill(bucket)
    mox.rename(f"{bucket}/d", f"{tmp_path}/d")
    assert not mox.exists(f"{bucket}/d")
    assert mox.read(f"{tmp_path}/d/e/c.bin") == "d/e/c.bin"
    mox.rename(f"{tmp_path}/d/b.txt", f"{bucket}/back.txt")
    assert mox.list_directory(f"{tmp_path}/d") == ["e"]
    assert mox.read(f"{bucket}/back.txt") == "d/b.txt"


def test_copy(place: str) -> None:
    mox.write(f"{place}/a", "data")
    mox.copy(f"{place}/a", f"{place}/new/dir/b")
    assert mox.read(f"{place}/new/dir/b") == "data"
    with pytest.raises(mox.MoxFileRespException, match="copy_parallel"):
        mox.copy(f"{place}/new", f"{place}/c")
    with pytest.raises(mox.MoxFileRespException, match="is a directory"):
        mox.copy(f"{place}/a", f"{place}/new/")
    with pytest.raises(mox.MoxFileNotExistsException):
        mox.copy(f"{place}/none", f"{place}/c")
    with pytest.raises(MoxValueError, match="onto itself"):
        mox.copy(f"{place}/a", f"{place}/a")


def test_copy_keeps_what_is_there_when_it_fails(place: str, tmp_path: os.PathLike[str]) -> None:
    mox.write(f"{tmp_path}/kept", "old")
    with pytest.raises(mox.MoxFileNotExistsException):
        mox.copy(f"{place}/none", f"{tmp_path}/kept")
    assert mox.read(f"{tmp_path}/kept") == "old"
    assert [name for name in os.listdir(tmp_path) if name.startswith(".mox")] == []


def test_missing_paths(place: str) -> None:
    path = f"{place}/none"
    for ask in (mox.stat, mox.get_size, mox.read, mox.list_directory, mox.scan_dir):
        with pytest.raises(mox.MoxFileNotExistsException) as missing:
            ask(path)
        assert isinstance(missing.value, FileNotFoundError), ask
        assert isinstance(missing.value, mox.MoxFileRespException), ask
        assert path in str(missing.value), ask
        assert missing.value.errno == 2
    mox.write(f"{place}/f", "")
    for ask in (mox.list_directory, mox.scan_dir):
        with pytest.raises(NotADirectoryError, match="is a file, not a directory"):
            ask(f"{place}/f")


def test_bytes_and_text_are_told_apart(place: str) -> None:
    with pytest.raises(MoxTypeError, match="pass binary=True to write bytes"):
        mox.write(f"{place}/a", b"x")
    with pytest.raises(MoxTypeError, match="encode it, or leave binary out"):
        mox.append(f"{place}/a", "x", binary=True)
    assert not mox.exists(f"{place}/a")


def test_slashes_count_once(place: str) -> None:
    mox.make_dirs(f"{place}//d")
    mox.write(f"{place}//d///a", "x")
    assert mox.read(f"{place}/d/a") == "x"
    assert mox.list_directory(f"{place}//d/") == ["a"]


@pytest.mark.parametrize("keys", [1, 2, 3])
def test_listings_of_many_pages(bucket: str, keys: int) -> None:
    mox.set_auth(list_max_keys=keys)
    names = [f"{n}/x" for n in range(5)] + [f"f{n}" for n in range(5)]
    for name in names:
        mox.write(f"{bucket}/{name}", "")
    top = sorted({name.partition("/")[0] for name in names})
    assert mox.list_directory(bucket) == top
    assert mox.list_directory(bucket, recursive=True, skip_dir=True) == sorted(names)
    assert mox.glob(f"{bucket}/*/x") == [f"{bucket}/{n}/x" for n in range(5)]
    assert [len(files) for _, _, files in mox.walk(bucket)] == [5, 1, 1, 1, 1, 1]
    mox.remove(bucket, recursive=True)
    assert mox.list_directory(bucket) == []


def test_typo_is_answered_with_the_right_name() -> None:
    with pytest.raises(MoxAttributeError) as error:
        mox.rmove  # noqa: B018
    assert str(error.value) == "mox.file has no attribute 'rmove'. Did you mean 'remove'?"


def test_old_import_paths_lead_to_the_same_functions() -> None:
    for name in file_io.__all__:
        if not name.startswith("_"):
            assert getattr(file_io, name) is getattr(mox, name)
    assert issubclass(mox.MoxFileReadException, file_io._MoxFileBaseRespException)


def test_keys_that_no_url_can_name_are_in_no_listing(bucket: str, client: Any) -> None:
    name = bucket.removeprefix("s3://")
    for key in ("/top", "d//x", "d/a//b", "d/a//", "d/ok"):
        client.put_object(Bucket=name, Key=key, Body=b"1")
    assert mox.list_directory(bucket) == ["d"]
    assert mox.list_directory(f"{bucket}/d", recursive=True) == ["a", "ok"]
    assert [entry.name for entry in mox.scan_dir(f"{bucket}/d")] == ["a", "ok"]
    assert list(mox.walk(bucket)) == [
        (bucket, ["d"], []),
        (f"{bucket}/d", ["a"], ["ok"]),
        (f"{bucket}/d/a", [], []),
    ]
    assert mox.glob(f"{bucket}/*") == [f"{bucket}/d"]
    assert mox.glob(f"{bucket}/d/**", recursive=True) == [
        f"{bucket}/d/",
        f"{bucket}/d/a",
        f"{bucket}/d/ok",
    ]
    # They count, and go with their directory.
    assert mox.get_size(f"{bucket}/d", recursive=True) == 4
    mox.remove(f"{bucket}/d", recursive=True)
    left = client.list_objects_v2(Bucket=name)["Contents"]
    assert [item["Key"] for item in left] == ["/top"]


def test_a_bucket_is_not_made(s3: str) -> None:
    for make in (mox.mk_dir, mox.make_dirs):
        with pytest.raises(mox.MoxFileNotExistsException) as error:
            make("s3://no-such-bucket")
        assert str(error.value) == (
            "the bucket s3://no-such-bucket does not exist; create it with your provider's tools"
        )


@pytest.mark.parametrize("act", [mox.copy, mox.copy_parallel, mox.rename, mox.background_sync_copy])
def test_destination_that_is_none(
    act: Any, tmp_path: Path, s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("1")
    with pytest.raises(MoxValueError) as error:
        act("a", "")
    assert str(error.value) == (
        "the path to write to is empty; the flag or variable that holds it was left empty"
    )
    with pytest.raises(MoxValueError) as error:
        act("a", "s3://")
    assert str(error.value) == "'s3://' names no bucket; write s3://bucket/path"
    assert os.listdir() == ["a"]


def test_append_remote_to_itself(place: str) -> None:
    data = os.urandom(3 << 20)
    mox.write(f"{place}/a", data, binary=True)
    mox.append_remote(f"{place}/a", f"{place}/a")
    assert mox.read(f"{place}/a", binary=True) == data * 2


def test_append_remote_of_a_directory(bucket: str) -> None:
    mox.write(f"{bucket}/a", "1")
    for src, dst in ((f"{bucket}/a", f"{bucket}/"), (f"{bucket}/d/", f"{bucket}/a")):
        with pytest.raises(mox.MoxFileIsDirectoryException, match="is a directory"):
            mox.append_remote(src, dst)


def test_links_that_lead_around_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "self").symlink_to("self")
    assert mox.list_directory(tmp_path, recursive=True) == ["d", "self"]
    assert [(entry.name, entry.is_symlink()) for entry in mox.scan_dir(tmp_path)].count(
        ("self", True)
    ) == 1
    assert mox.get_size(tmp_path, recursive=True) == 0


def test_links_in_a_circle_in_a_directory_of_buckets(folder_bucket: str) -> None:
    root = Path(os.environ["MOX_FILE_S3_ROOT"]) / "bucket"
    (root / "self").symlink_to("self")
    (root / "a").write_text("1")
    assert mox.list_directory(folder_bucket) == ["a"]
