"""A File behaves as Python's own file objects, wherever the file is."""

from __future__ import annotations

import codecs
import csv
import json
import logging
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest

from moxing.errors import MoxValueError
from moxing.framework import file as mox

# What libraries take for a file is more than type checkers can say.
File: Any = mox.File
START = b"first\nsecond \xc3\xbc\nthird"
MODES = ("r", "w", "a", "r+", "w+", "a+", "rb", "wb", "ab", "br", "bw", "ba", "rb+", "br+", "w+b")


def _text(file: Any, mode: str) -> Callable[[str], Any]:
    return (lambda text: text.encode()) if "b" in mode else (lambda text: text)


def _exercise(file: Any, mode: str) -> list[object]:
    """What a file answers to all that its mode allows."""
    as_data = _text(file, mode)
    said: list[object] = [file.readable(), file.writable(), file.seekable(), file.tell()]
    if file.readable():
        said += [file.read(3), file.readline(), file.tell(), file.readlines(), file.read()]
        said += [file.seek(0), next(iter(file), None), file.seek(2), file.read(4)]
    if file.writable():
        said += [file.seek(0, 2), file.write(as_data("new\n")), file.tell()]
        file.writelines([as_data("x"), as_data("y")])
        said += [file.seek(1), file.write(as_data("ZZ")), file.tell()]
        file.flush()
    if file.readable():
        said += [file.seek(0), file.read()]
    file.close()
    return [*said, file.closed]


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_as_in_python(place: str, tmp_path: Path, mode: str, there: bool) -> None:
    local, path = tmp_path / "python", f"{place}/file"
    if there:
        local.write_bytes(START)
        mox.write(path, START, binary=True)
    if not there and "r" in mode:
        with pytest.raises(FileNotFoundError, match="does not exist"):
            mox.File(path, mode)
        return
    with open(local, mode) as file:
        expected = _exercise(file, mode)
    with mox.File(path, mode) as file:
        assert _exercise(file, mode) == expected
    assert mox.read(path, binary=True) == local.read_bytes()


@pytest.mark.parametrize("mode", ["", "rw", "q", "bb", "rbt", "+", "rU"])
def test_no_such_mode(place: str, mode: str) -> None:
    with pytest.raises(MoxValueError, match="there is no file mode"):
        mox.File(f"{place}/a", mode)


def test_exclusive_mode(place: str) -> None:
    with mox.File(f"{place}/a", "x") as file:
        file.write("1")
    with pytest.raises(FileExistsError):
        mox.File(f"{place}/a", "x")
    assert mox.read(f"{place}/a") == "1"


def test_size(place: str) -> None:
    with mox.File(f"{place}/a", "wb") as file:
        file.write(b"12345")
        assert file.size() == 5
    with mox.File(f"{place}/a", "rb") as file:
        file.read(2)
        assert file.size() == 5


def test_encoding_newline_and_errors(place: str) -> None:
    with mox.File(f"{place}/a", "w", encoding="utf-16", newline="\r\n") as file:
        file.write("ä\nb\n")
    assert mox.read(f"{place}/a", binary=True) == codecs.BOM_UTF16_LE + "ä\r\nb\r\n".encode(
        "utf-16-le"
    )
    with mox.File(f"{place}/a", "a", encoding="utf-16") as file:
        file.write("c")
    with mox.File(f"{place}/a", encoding="utf-16") as file:
        assert file.read() == "ä\nb\nc"
    with mox.File(f"{place}/a", encoding="ascii", errors="replace") as file:
        assert "\ufffd" in file.read()


def test_pandas_csv(place: str) -> None:
    frame = pd.DataFrame({"number": [1, 2], "name": ["ä", "b"]})
    with File(f"{place}/t.csv", "w") as file:
        frame.to_csv(file, index=False)
    with File(f"{place}/t.csv") as file:
        pd.testing.assert_frame_equal(pd.read_csv(file), frame)
    with File(f"{place}/t.csv", "rb") as file:
        pd.testing.assert_frame_equal(pd.read_csv(file), frame)


def test_pickle_json_csv_zip(place: str) -> None:
    data = {"a": [1, 2.5, None], "b": "ü"}
    with File(f"{place}/p", "wb") as file:
        pickle.dump(data, file)
    with File(f"{place}/p", "rb") as file:
        assert pickle.load(file) == data
    with File(f"{place}/j", "w") as file:
        json.dump(data, file)
    with File(f"{place}/j") as file:
        assert json.load(file) == data
        assert file.tell() > 0
    with File(f"{place}/c", "w", newline="") as file:
        csv.writer(file).writerows([["a", "b,c"], ["1", '"']])
    with File(f"{place}/c", newline="") as file:
        assert list(csv.reader(file)) == [["a", "b,c"], ["1", '"']]
    with File(f"{place}/z", "wb") as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("in", b"data" * 1000)
    with File(f"{place}/z", "rb") as file, zipfile.ZipFile(file) as archive:
        assert archive.read("in") == b"data" * 1000


def test_numpy(place: str) -> None:
    array = np.arange(1000).reshape(10, 100)
    with File(f"{place}/a.npy", "wb") as file:
        np.save(file, array)
    with File(f"{place}/a.npy", "rb") as file:
        np.testing.assert_array_equal(np.load(file), array)
    with File(f"{place}/a.npz", "wb") as file:
        np.savez(file, array=array)
    with File(f"{place}/a.npz", "rb") as file:
        np.testing.assert_array_equal(np.load(file)["array"], array)


def test_h5py(place: str) -> None:
    data: Any
    with File(f"{place}/a.h5", "w+b") as file, h5py.File(file, "w") as data:
        data["x"] = np.arange(100)
    with File(f"{place}/a.h5", "rb") as file, h5py.File(file, "r") as data:
        np.testing.assert_array_equal(data["x"][:], np.arange(100))


def test_manual_section_4_3_writes_predictions(bucket: str) -> None:
    outputs = [{"prediction": np.array([1, 2])}, {"prediction": np.array([3, 4])}]
    with File(f"{bucket}/outputs.txt", "w") as file:
        pd.DataFrame(np.array(outputs)).to_csv(file)
    assert (
        mox.read(f"{bucket}/outputs.txt").splitlines()[1] == "0,\"{'prediction': array([1, 2])}\""
    )


def test_flush_makes_what_is_written_visible(place: str) -> None:
    file = File(f"{place}/log", "w")
    for number in range(5):
        file.write(f"{number}\n")
        file.flush()
        assert mox.read(f"{place}/log") == "".join(f"{n}\n" for n in range(number + 1))
    file.close()
    assert mox.read(f"{place}/log") == "0\n1\n2\n3\n4\n"


def test_log_handler_on_a_store(bucket: str) -> None:
    file = File(f"{bucket}/log.txt", "w")
    logger = logging.Logger("test")
    logger.addHandler(logging.StreamHandler(file))
    for number in range(300):
        logger.info("line %d", number)
    file.close()
    assert mox.read(f"{bucket}/log.txt").splitlines() == [f"line {n}" for n in range(300)]


def test_exception_leaves_the_object_as_it_was(bucket: str, caplog: Any) -> None:
    mox.write(f"{bucket}/a", "old")

    def half() -> None:
        with File(f"{bucket}/a", "w") as file:
            file.write("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert mox.read(f"{bucket}/a") == "old"
    assert f"{bucket}/a was not written: its block ended with ZeroDivisionError" in caplog.text


def test_reader_finds_old_or_new_and_nothing_between(bucket: str) -> None:
    mox.write(f"{bucket}/a", "old")
    file = File(f"{bucket}/a", "w")
    file.write("new")
    assert mox.read(f"{bucket}/a") == "old"
    file.close()
    assert mox.read(f"{bucket}/a") == "new"


@pytest.mark.slow
def test_program_end_sends_what_was_left_open(bucket: str) -> None:
    code = (
        "from moxing.framework import file as mox\n"
        f"f = mox.File('{bucket}/left', 'w')\n"
        "f.write('all of it')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240)
    assert mox.read(f"{bucket}/left") == "all of it"


@pytest.mark.slow
def test_a_users_own_exit_function_can_still_use_a_store(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * (17 << 20))
    code = (
        "import atexit\n"
        "from moxing.framework import file as mox\n"
        f"atexit.register(lambda: mox.copy('{tmp_path}/big', '{bucket}/big'))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240)
    assert mox.get_size(f"{bucket}/big") == 17 << 20


def test_forked_child_reads_and_does_not_send_its_parents_file(bucket: str) -> None:
    import os

    mox.write(f"{bucket}/a", "shared")
    file = File(f"{bucket}/b", "w")
    file.write("parent")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if mox.read(f"{bucket}/a") == "shared" else 2
            file.close()
            code = code or (3 if mox.exists(f"{bucket}/b") else 0)
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    file.close()
    assert mox.read(f"{bucket}/b") == "parent"


def test_repr_and_mode(place: str) -> None:
    with File(f"{place}/a", "wb") as file:
        assert repr(file) == f"<File '{place}/a' mode='wb'>"
        assert (file.name, file.mode) == (f"{place}/a", "wb")
    assert repr(file) == f"<closed File '{place}/a' mode='wb'>"
    with pytest.raises(ValueError, match="closed file"):
        file.write(b"")
    file.close()


def test_path_objects(place: str) -> None:
    path = Path(place) / "d" / "a"
    mox.make_dirs(Path(place) / "d")
    mox.write(path, "x")
    assert mox.read(f"{place}/d/a") == "x"
    assert mox.exists(path)
