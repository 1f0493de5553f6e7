"""copy_parallel copies trees whole, in threads and processes, and says what it could not copy."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moxing.errors import MoxTypeError, MoxValueError
from moxing.framework import file as mox
from moxing.framework.file.configuration import settings
from moxing.framework.file.copying import transfer, workers
from moxing.framework.file.copying.ledger import Job, Ledger

FILES = {"a": b"1", "d/b.txt": b"22", "d/e/c": b"", "ü name.txt": b"4"}


@pytest.mark.parametrize("threads", [0, 1, 16])
@pytest.mark.parametrize("processing", [True, False])
def test_there_and_back(
    place: str,
    tmp_path: Path,
    make_tree: Callable[..., Path],
    read_tree: Callable[[Path], dict[str, bytes]],
    threads: int,
    processing: bool,
) -> None:
    tree = make_tree(FILES)
    (tree / "empty" / "in").mkdir(parents=True)
    for src, dst in ((tree, f"{place}/t"), (f"{place}/t/", f"{place}/u/"), (f"{place}/u", None)):
        mox.copy_parallel(src, dst or tmp_path / "back", threads=threads, is_processing=processing)
    assert read_tree(tmp_path / "back") == FILES
    assert (tmp_path / "back" / "empty" / "in").is_dir()


def test_nothing_is_deleted_at_the_destination(place: str, make_tree: Callable[..., Path]) -> None:
    mox.make_dirs(f"{place}/dst/d")
    mox.write(f"{place}/dst/kept", "kept")
    mox.write(f"{place}/dst/d/kept", "kept")
    mox.write(f"{place}/dst/a", "old")
    mox.copy_parallel(make_tree(FILES), f"{place}/dst")
    assert mox.read(f"{place}/dst/a") == "1"
    assert mox.list_directory(f"{place}/dst", recursive=True, skip_dir=True) == sorted(
        [*FILES, "kept", "d/kept"]
    )


def test_single_file(place: str, tmp_path: Path) -> None:
    mox.write(f"{place}/x.tar", "tar")
    mox.copy_parallel(f"{place}/x.tar", tmp_path / "cache" / "y.tar")
    assert (tmp_path / "cache" / "y.tar").read_text() == "tar"
    mox.copy_parallel(f"{place}/x.tar", tmp_path / "cache")
    assert (tmp_path / "cache" / "x.tar").read_text() == "tar"
    mox.copy_parallel(tmp_path / "cache" / "x.tar", f"{place}/up/")
    assert mox.read(f"{place}/up/x.tar") == "tar"
    with pytest.raises(NotADirectoryError, match="nothing in it for file_list to name"):
        mox.copy_parallel(f"{place}/x.tar", tmp_path / "z", file_list=["a"])


def test_file_list(place: str, tmp_path: Path, make_tree: Callable[..., Path]) -> None:
    mox.copy_parallel(make_tree(FILES), place)
    mox.copy_parallel(place, tmp_path / "some", file_list=["d/b.txt", f"{place}/a"])
    assert mox.list_directory(tmp_path / "some", recursive=True) == ["a", "d", "d/b.txt"]
    with pytest.raises(mox.MoxFileCopyException) as error:
        mox.copy_parallel(place, tmp_path / "more", file_list=["a", "none", "d", "../a"])
    failed = {item.src: item.reason for item in error.value.failed}
    assert sorted(failed) == sorted([f"{place}/none", f"{place}/d", f"{place}/../a"])
    assert failed[f"{place}/../a"] == "its name can't be used below another directory"
    assert os.listdir(tmp_path / "more") == ["a"]
    assert str(error.value).startswith(f"3 of 4 files were not copied to {tmp_path}/more; ")
    with pytest.raises(MoxTypeError, match="a list of names is needed"):
        mox.copy_parallel(place, tmp_path / "x", file_list="a")


def test_empty_source(place: str, tmp_path: Path, caplog: Any) -> None:
    caplog.set_level(logging.INFO)
    mox.make_dirs(f"{place}/none")
    mox.copy_parallel(f"{place}/none", tmp_path / "dst")
    assert (tmp_path / "dst").is_dir()
    mox.copy_parallel(tmp_path / "dst", f"{place}/made")
    assert mox.is_directory(f"{place}/made")
    assert ("root", logging.INFO, "No files to copy.") in caplog.record_tuples


def test_log_lines(bucket: str, tmp_path: Path, make_tree: Callable[..., Path], caplog: Any):
    caplog.set_level(logging.INFO)
    mox.copy_parallel(make_tree(FILES), bucket)
    mox.copy_parallel(bucket, tmp_path / "x")
    lines = [message for name, _, message in caplog.record_tuples if name == "root"]
    assert lines == [
        "Start to copy 4 files.",
        "Finish copy.",
        "Listing OBS",
        "Start to copy 4 files.",
        "Finish copy.",
    ]


def test_progress_line(caplog: Any) -> None:
    caplog.set_level(logging.INFO)
    ledger = Ledger(10)
    for _ in range(5):
        ledger.done(Job("a", "b"), 400_000)
    ledger.tell()
    assert caplog.text == ""
    ledger._told -= 11
    ledger._began -= 20
    ledger.tell()
    assert "Copied 5 of 10 files, 2.0 MB (0.2 files/s, 0.1 MB/s)" in caplog.text


def test_bad_arguments(tmp_path: Path) -> None:
    for threads in (-1, 1.5, True, "4"):
        with pytest.raises(MoxValueError, match="a number from 0 on is needed"):
            mox.copy_parallel(tmp_path, tmp_path / "x", threads=threads)  # type: ignore[arg-type]
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="can't be copied to the file"):
        mox.copy_parallel(tmp_path, tmp_path / "file")


def test_partial_failure_copies_the_rest(
    bucket: str, tmp_path: Path, make_tree: Callable[..., Path]
) -> None:
    tree = make_tree(FILES)
    (tree / "dangling").symlink_to("nowhere")
    os.mkfifo(tree / "pipe")
    with pytest.raises(mox.MoxFileCopyException) as error:
        mox.copy_parallel(tree, bucket)
    assert {Path(item.src).name for item in error.value.failed} == {"dangling", "pipe"}
    assert "pipe: " in str(error.value)
    assert "is no regular file and can't be copied" in str(error.value)
    assert mox.list_directory(bucket, recursive=True, skip_dir=True) == sorted(FILES)


def test_links_are_followed_but_not_in_circles(bucket: str, make_tree: Callable[..., Path]) -> None:
    tree = make_tree({"real/a": b"1"})
    (tree / "link").symlink_to("real", target_is_directory=True)
    (tree / "real" / "up").symlink_to("..", target_is_directory=True)
    mox.copy_parallel(tree, bucket)
    listed = mox.list_directory(bucket, recursive=True, skip_dir=True)
    assert listed == ["link/a", "real/a"]


def test_a_link_to_itself_fails_alone(bucket: str, make_tree: Callable[..., Path]) -> None:
    tree = make_tree({"a": b"1"})
    (tree / "self").symlink_to("self")
    with pytest.raises(mox.MoxFileCopyException, match="Too many levels of symbolic links"):
        mox.copy_parallel(tree, bucket)
    assert mox.list_directory(bucket) == ["a"]


def test_onto_itself(place: str) -> None:
    mox.make_dirs(f"{place}/d")
    mox.write(f"{place}/d/a", "1")
    mox.copy_parallel(f"{place}/d", f"{place}/d/")
    mox.copy_parallel(f"{place}/d/a", f"{place}/d/a")
    assert mox.list_directory(place, recursive=True) == ["d", "d/a"]
    assert mox.read(f"{place}/d/a") == "1"


def test_file_and_directory_of_one_name(bucket: str, tmp_path: Path) -> None:
    mox.write(f"{bucket}/d/x", "file")
    mox.write(f"{bucket}/d/x/y", "below")
    mox.write(f"{bucket}/d/z", "other")
    assert mox.read(f"{bucket}/d/x") == "file"
    with pytest.raises(mox.MoxFileNameDuplicateException) as error:
        mox.copy_parallel(f"{bucket}/d", tmp_path / "x")
    assert str(error.value) == (
        f"{bucket}/d holds both a file and a directory 'x', which the local directory "
        f"{tmp_path}/x can't; nothing was copied"
    )
    assert not (tmp_path / "x").exists()
    mox.copy_parallel(f"{bucket}/d", f"{bucket}/e")
    assert mox.list_directory(f"{bucket}/e", recursive=True) == ["x", "x", "x/y", "z"]


def test_keys_that_lead_out_of_the_destination(bucket: str, client: Any, tmp_path: Path) -> None:
    name = bucket.removeprefix("s3://")
    outside = str(tmp_path / "outside")
    for key in ("d/ok", "d/a/../../evil/x", "d//double", "d/./dot", f"d/{outside}/x", "d/../e/"):
        client.put_object(Bucket=name, Key=key, Body=b"x")
    with pytest.raises(mox.MoxFileCopyException) as error:
        mox.copy_parallel(f"{bucket}/d", tmp_path / "in" / "side")
    assert len(error.value.failed) == 4
    side = tmp_path / "in" / "side"
    # Not even an empty directory is made elsewhere.
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "in", side, side / "a", side / "ok"]


def test_a_file_in_the_way_of_a_directory(bucket: str, tmp_path: Path) -> None:
    mox.write(f"{bucket}/d/a", "1")
    mox.write(f"{bucket}/e", "2")
    (tmp_path / "dst" / "e").mkdir(parents=True)
    with pytest.raises(mox.MoxFileCopyException, match="a directory of that name is there"):
        mox.copy_parallel(bucket, tmp_path / "dst")
    assert (tmp_path / "dst" / "d" / "a").read_text() == "1"


def test_store_that_goes_away_does_not_cost_a_wait_for_each_file(
    proxy: Any, bucket: str, make_tree: Callable[..., Path]
) -> None:
    mox.set_auth(retry=2)
    tree = make_tree({f"f{n}": b"x" for n in range(200)})
    proxy.away = True
    with pytest.raises(mox.MoxFileCopyException) as error:
        mox.copy_parallel(tree, bucket, threads=4)
    assert len(error.value.failed) == 200
    assert "not tried after the errors above" in {item.reason for item in error.value.failed}
    assert len(proxy.seen) < 40


def test_permission_bits_stay_on_the_disk(tmp_path: Path, make_tree: Callable[..., Path]) -> None:
    tree = make_tree(FILES)
    (tree / "a").chmod(0o750)
    mox.copy_parallel(tree, tmp_path / "copy")
    assert (tmp_path / "copy" / "a").stat().st_mode & 0o777 == 0o750


def test_how_many_processes() -> None:
    assert workers.how_many(100_000, 16, 8) == 8
    assert workers.how_many(100_000, 2, 8) == 2
    assert workers.how_many(5_000, 16, 8) == 2
    assert workers.how_many(2_000, 16, 8) == 1
    assert workers.how_many(10, 0, 8) == 1


@pytest.mark.slow
@pytest.mark.parametrize("use_queue", [True, False])
def test_processes(
    bucket: str,
    tmp_path: Path,
    make_tree: Callable[..., Path],
    read_tree: Callable[[Path], dict[str, bytes]],
    monkeypatch: pytest.MonkeyPatch,
    use_queue: bool,
) -> None:
    monkeypatch.setattr(workers, "SHARE", 40)
    files = {f"f{n}": b"%d" % n for n in range(90)}
    tree = make_tree(files)
    jobs = [Job(str(tree / name), f"{bucket}/{name}") for name in [*files, "none"]]
    ledger = Ledger(len(jobs))
    workers.run(jobs, 2, 8, settings.current(), ledger, use_queue)
    assert (ledger.files, ledger.size) == (90, sum(map(len, files.values())))
    assert [item.src for item in ledger.failed] == [str(tree / "none")]
    mox.copy_parallel(bucket, tmp_path / "back")
    assert read_tree(tmp_path / "back") == files


@pytest.mark.slow
def test_work_of_a_killed_process_is_done_here(
    bucket: str,
    tmp_path: Path,
    make_tree: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: Any,
) -> None:
    files = {f"f{n}": b"x" for n in range(50)}
    tree = make_tree(files)
    killing = "import os; os._exit(9)"
    monkeypatch.setattr(workers, "_MAIN", killing)
    ledger = Ledger(50)
    jobs = [Job(str(tree / name), f"{bucket}/{name}") for name in files]
    workers.run(jobs, 2, 4, settings.current(), ledger)
    assert ledger.files == 50
    assert "Copying processes ended early; copying 50 files here" in caplog.text
    assert len(mox.list_directory(bucket)) == 50


@pytest.mark.slow
def test_processes_need_no_main_guard_and_no_clean_directory(
    bucket: str, tmp_path: Path, make_tree: Callable[..., Path]
) -> None:
    tree = make_tree({f"f{n}": b"x" for n in range(20)})
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')\n")
    script = tmp_path / "scripts" / "copy_it.py"
    script.parent.mkdir()
    script.write_text(
        "print('main')\n"
        "from moxing.framework import file as mox\n"
        "from moxing.framework.file.copying import workers\n"
        "workers.FILES_PER_PROCESS = 5\n"
        f"mox.copy_parallel({str(tree)!r}, {bucket!r})\n"
    )
    ended = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "MOX_FILE_NUMBER_OF_PROCESSES": "2"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ended.returncode, ended.stdout) == (0, "main\n"), ended.stderr
    assert len(mox.list_directory(bucket)) == 20


def test_sequential_copy_starts_no_thread(
    bucket: str, make_tree: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    mox.exists(bucket)
    monkeypatch.setattr("moxing.framework.file.copying.pool.threading.Thread.start", None)
    mox.copy_parallel(make_tree(FILES), bucket, threads=0, is_processing=False)
    assert mox.list_directory(bucket, recursive=True, skip_dir=True) == sorted(FILES)


def test_large_file_in_parts(
    bucket: str, proxy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOX_FILE_LARGE_FILE_PART_SIZE", str(5 << 20))
    data = os.urandom((21 << 20) + 7)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "large").write_bytes(data)
    mox.copy_parallel(tmp_path / "src", f"{bucket}/a", threads=4)
    parts = [path for method, path in proxy.seen if method == "PUT" and "partNumber" in path]
    assert len(parts) == 5
    proxy.seen.clear()
    mox.copy_parallel(f"{bucket}/a", tmp_path / "dst", threads=4)
    assert (tmp_path / "dst" / "large").read_bytes() == data
    assert len([path for method, path in proxy.seen if "large" in path and method == "GET"]) == 4
    monkeypatch.setattr(transfer.parts, "COPY_PART", 8 << 20)
    proxy.seen.clear()
    mox.copy_parallel(f"{bucket}/a", f"{bucket}/b", threads=4)
    assert mox.read(f"{bucket}/b/large", binary=True) == data
    assert len([path for _, path in proxy.seen if "partNumber" in path]) == 3


def test_copy_files(bucket: str, tmp_path: Path, make_tree: Callable[..., Path]) -> None:
    tree = make_tree(FILES)
    mox.copy_files([(str(tree / "a"), f"{bucket}/x"), (str(tree / "d/b.txt"), f"{bucket}/y/z")])
    assert mox.list_directory(bucket, recursive=True) == ["x", "y", "y/z"]
    pairs = [(f"{bucket}/x", str(tmp_path / "x")), (f"{bucket}/none", str(tmp_path / "n"))]
    with pytest.raises(mox.MoxFileCopyException, match="1 of 2 files were not copied") as error:
        mox.copy_files(pairs)
    assert [item.src for item in error.value.failed] == [f"{bucket}/none"]
    assert (tmp_path / "x").read_text() == "1"
