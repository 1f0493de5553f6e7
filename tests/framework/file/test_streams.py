"""Reading and writing large objects takes few requests and little memory."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from moxing.framework import file as mox
from moxing.framework.file.store import reader as reader_module
from moxing.framework.file.store import writer as writer_module

MIB = 1 << 20


def _gets(proxy: Any) -> int:
    return len([method for method, _ in proxy.seen if method == "GET"])


def test_small_file_is_one_request(proxy: Any, bucket: str) -> None:
    mox.write(f"{bucket}/a", "x")
    proxy.seen.clear()
    assert mox.read(f"{bucket}/a") == "x"
    assert mox.read(f"{bucket}/a", binary=True) == b"x"
    mox.write(f"{bucket}/a", "y")
    assert [method for method, _ in proxy.seen] == ["GET", "GET", "PUT"]


def test_sequential_read_grows_its_blocks(proxy: Any, bucket: str) -> None:
    data = random.Random(0).randbytes(30 * MIB)
    mox.write(f"{bucket}/a", data, binary=True)
    proxy.seen.clear()
    with mox.File(f"{bucket}/a", "rb") as file:
        pieces = iter(lambda: file.read(100_000), b"")
        assert b"".join(pieces) == data
    assert _gets(proxy) <= 9


def test_random_access_fetches_little(proxy: Any, bucket: str) -> None:
    data = random.Random(1).randbytes(10 * MIB)
    mox.write(f"{bucket}/a", data, binary=True)
    sent: list[int] = []
    proxy.seen.clear()
    with mox.File(f"{bucket}/a", "rb") as file:
        for at in (9 * MIB, 100, 5 * MIB, 5 * MIB + 10):
            file.seek(at)
            assert file.read(4) == data[at : at + 4]
            sent.append(_gets(proxy))
        file.seek(-3, 2)
        assert file.read() == data[-3:]
    assert sent == [2, 3, 4, 4]


def test_empty_object_and_reading_past_the_end(place: str) -> None:
    mox.write(f"{place}/a", b"", binary=True)
    with mox.File(f"{place}/a", "rb") as file:
        assert file.read() == b""
        assert file.seek(10) == 10
        assert file.read(5) == b""
        with pytest.raises((ValueError, OSError)):
            file.seek(-1)


@hypothesis_settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["read", "readline", "seek", "end", "write", "truncate"]),
            st.integers(0, 300),
        ),
        max_size=12,
    ),
    st.sampled_from(["rb", "r+b", "w+b", "a+b", "ab", "wb"]),
    st.booleans(),
)
def test_any_use_as_in_python(
    folder_bucket: str,
    tmp_path: Path,
    steps: list[tuple[str, int]],
    mode: str,
    long: bool,
) -> None:
    start = bytes(range(256))
    (tmp_path / "local").write_bytes(start)
    mox.write(f"{folder_bucket}/a", start, binary=True)
    patch = pytest.MonkeyPatch()
    # With blocks this small every edge is met; appending fetches nothing where it is long.
    patch.setattr(reader_module, "FIRST_BLOCK", 7)
    patch.setattr(reader_module, "LARGEST_BLOCK", 50)
    patch.setattr(writer_module, "FETCHED_TO_APPEND", 0 if long else 1 << 20)
    try:
        with open(tmp_path / "local", mode) as a, mox.File(f"{folder_bucket}/a", mode) as b:
            for what, number in steps:
                assert _step(a, what, number) == _step(b, what, number), (what, number)
    finally:
        patch.undo()
    assert mox.read(f"{folder_bucket}/a", binary=True) == (tmp_path / "local").read_bytes()


def _step(file: Any, what: str, number: int) -> object:
    if what in ("read", "readline") and file.readable():
        return getattr(file, what)(number)
    if what == "seek":
        return file.seek(number)
    if what == "end":
        return file.seek(-number % 40, 2)
    if what == "write" and file.writable():
        return (file.write(b"w" * number), file.tell())
    if what == "truncate" and file.writable() and "a" not in file.mode:
        return file.truncate(number)
    return file.tell()


def test_long_append_does_not_fetch(proxy: Any, bucket: str) -> None:
    mox.write(f"{bucket}/a", b"1" * (9 * MIB), binary=True)
    proxy.seen.clear()
    with mox.File(f"{bucket}/a", "ab") as file:
        assert file.tell() == 9 * MIB
        file.write(b"tail")
        file.flush()
        assert mox.get_size(f"{bucket}/a") == 9 * MIB + 4
        file.write(b"more")
        assert file.size() == 9 * MIB + 8
    assert _gets(proxy) == 0
    assert mox.read(f"{bucket}/a", binary=True)[-10:] == b"11tailmore"


def test_append_remote_of_long_objects_stays_in_the_store(proxy: Any, bucket: str) -> None:
    mox.write(f"{bucket}/a", b"1" * (6 * MIB), binary=True)
    mox.write(f"{bucket}/b", b"2" * (7 * MIB), binary=True)
    proxy.seen.clear()
    mox.append_remote(f"{bucket}/a", f"{bucket}/b")
    assert _gets(proxy) == 0
    assert mox.read(f"{bucket}/b", binary=True) == b"2" * (7 * MIB) + b"1" * (6 * MIB)


def test_write_holds_little(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOX_FILE_LARGE_FILE_PART_SIZE", str(5 * MIB))
    monkeypatch.setenv("MOX_FILE_LARGE_FILE_TASK_NUM", "2")
    block = bytes(MIB)
    mox.exists(bucket)
    tracemalloc.start()
    try:
        with mox.File(f"{bucket}/a", "wb") as file:
            for _ in range(100):
                file.write(block)
        assert tracemalloc.get_traced_memory()[1] < 40 * MIB
    finally:
        tracemalloc.stop()
    assert mox.get_size(f"{bucket}/a") == 100 * MIB


def test_many_flushes_are_sent_now_and_then(
    proxy: Any, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "FLUSH_ALLOWANCE", 0.0)
    monkeypatch.setattr(writer_module, "FLUSH_SHARE", 0.01)
    file = mox.File(f"{bucket}/log", "w")
    proxy.seen.clear()
    for number in range(300):
        file.write(f"{number}\n")
        file.flush()
    assert len(proxy.seen) < 100
    file.close()
    assert mox.read(f"{bucket}/log") == "".join(f"{n}\n" for n in range(300))
