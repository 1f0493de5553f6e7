"""Errors are what Python programs expect, survive pickling, and point to the mistake."""

from __future__ import annotations

import errno
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from moxing.errors import MoxError, MoxTypeError, MoxValueError
from moxing.framework import file as mox
from moxing.framework.file.errors import Failure, Response, copy_error
from moxing.framework.file.urls import is_remote, parse, text


@pytest.mark.parametrize(
    ("kind", "builtin", "code"),
    [
        (mox.MoxFileNotExistsException, FileNotFoundError, errno.ENOENT),
        (mox.MoxFileExistsException, FileExistsError, errno.EEXIST),
        (mox.MoxFileNameDuplicateException, FileExistsError, errno.EEXIST),
        (mox.MoxFileIsDirectoryException, IsADirectoryError, errno.EISDIR),
        (mox.MoxFileNotDirectoryException, NotADirectoryError, errno.ENOTDIR),
        (mox.MoxFilePermissionException, PermissionError, errno.EACCES),
        (mox.MoxFileConnectionException, ConnectionError, errno.ECONNREFUSED),
        (mox.MoxFileReadException, OSError, errno.EIO),
    ],
)
def test_errors_are_built_in_ones_and_can_be_sent(
    kind: type[mox.MoxFileRespException], builtin: type[OSError], code: int
) -> None:
    resp = Response(404, "NoSuchKey", "gone", "id")
    error = kind("what went wrong", url="s3://b/k", resp=resp)
    for same in (error, pickle.loads(pickle.dumps(error))):
        assert isinstance(same, builtin)
        assert isinstance(same, MoxError)
        assert str(same) == "what went wrong"
        assert (same.errno, same.filename, same.resp) == (code, "s3://b/k", resp)


def test_copy_error_lists_at_most_ten() -> None:
    failed = [Failure(f"s{n}", f"d{n}", "why") for n in range(12)]
    error = pickle.loads(pickle.dumps(copy_error(failed, 20, "dst")))
    lines = str(error).splitlines()
    assert lines[0] == "12 of 20 files were not copied to dst; the others are there:"
    assert lines[1] == "  s0: why"
    assert lines[-1] == "  ... and 2 more (see the error's `failed`)"
    assert error.failed == tuple(failed)


def test_resp_of_a_missing_object(bucket: str) -> None:
    with pytest.raises(mox.MoxFileRespException, match=r"\(NoSuchKey, stat:404, get_object") as e:
        mox.read(f"{bucket}/none")
    resp = e.value.resp
    assert resp is not None
    assert (resp.status, resp.errorCode) == (404, "NoSuchKey")
    assert resp.requestId


def test_missing_bucket_is_told_from_a_missing_object(s3: str) -> None:
    with pytest.raises(mox.MoxFileNotExistsException) as error:
        mox.write("s3://there-is-none/a", "x")
    assert str(error.value).startswith(
        f"the bucket of s3://there-is-none/a does not exist at {s3} (NoSuchBucket, stat:404"
    )
    assert str(error.value).endswith("; create it, or correct its name")
    with pytest.raises(mox.MoxFileNotExistsException, match="create it with your provider's tools"):
        mox.make_dirs("s3://there-is-none")


def test_wrong_bucket_name(s3: str) -> None:
    with pytest.raises(MoxValueError, match="can't be used: Parameter validation failed"):
        mox.read("s3://bad name!/a")
    with pytest.raises(MoxValueError, match="'s3:///a' names no bucket; write s3://bucket/path"):
        mox.read("s3:///a")


def test_literal_flag_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(mox.MoxFileNotExistsException) as error:
        mox.copy_parallel("FLAGS.data_url", "/cache")
    assert str(error.value) == (
        f"'FLAGS.data_url' does not exist (looked for it in {tmp_path}); it looks like a flag in "
        "quotes: write it without them"
    )
    with pytest.raises(mox.MoxFileNotExistsException, match="the path is empty; the flag"):
        mox.copy_parallel("", "/cache")


@pytest.mark.parametrize("path", [None, 3, b"s3://b/a", ["a"]])
def test_what_is_no_path(path: object) -> None:
    with pytest.raises(MoxTypeError, match="a path is text"):
        mox.exists(path)  # type: ignore[arg-type]


def test_urls() -> None:
    assert is_remote("s3://b/k")
    assert is_remote("OBS://b")
    assert is_remote(Path("s3://b/k"))
    for path in ("/s3://b", "s3:/b", "s3", "gs://b", b"s3://b", None, 3):
        assert not is_remote(path)
    assert text(Path("obs://b/k/x")) == "obs://b/k/x"
    where = parse("OBS://b//k///x/")
    assert (where.scheme, where.bucket, where.key) == ("obs", "b", "k/x/")
    assert (str(where), where.name, where.prefix) == ("obs://b/k/x/", "x", "k/x/")
    assert str(parse("s3://b/").below("a")) == "s3://b/a"


def test_hint_for_urls_in_functions_of_python(bucket: str) -> None:
    with pytest.raises(FileNotFoundError) as plain:
        open(f"{bucket}/a")  # noqa: SIM115
    assert mox.hint(plain.value) == (
        f"{bucket}/a is in an object store, which Python's own functions can't read: use mox.file "
        "(such as mox.file.File instead of open), or call mox.file.shift('os', 'mox') first"
    )
    with pytest.raises(FileNotFoundError) as ours:
        mox.File(f"{bucket}/a")
    assert mox.hint(ours.value) is None
    unknown = ValueError(f"File system scheme 's3' not implemented (file: '{bucket}/a')\n\t [[x]]")
    assert mox.hint(unknown) == (
        f"{bucket}/a is in an object store, which TensorFlow's own functions can't read: use"
        " mox.file, or copy it here first with mox.file.copy_parallel"
    )
    assert mox.hint(ValueError("x")) is None
    assert mox.hint(FileNotFoundError(2, "no", "/local")) is None


PLAIN = """\
import sys
before = sys.excepthook
sys.excepthook = lambda *args: (print("first", file=sys.stderr), before(*args))
from moxing.framework import file
import os
{line}
"""


@pytest.mark.parametrize("call", ["open", "os.listdir"])
def test_plain_python_says_the_hint_below_the_error(call: str) -> None:
    """What shows errors otherwise still does."""
    done = _python(PLAIN.format(line=f"{call}('s3://b/a.txt')"))
    assert done.stderr.startswith("first\nTraceback (most recent call last):\n")
    assert done.stderr.endswith(
        "FileNotFoundError: [Errno 2] No such file or directory: 's3://b/a.txt'\n"
        "s3://b/a.txt is in an object store, which Python's own functions can't read: use mox.file"
        " (such as mox.file.File instead of open), or call mox.file.shift('os', 'mox') first.\n"
    )


def test_other_errors_and_ipython_are_let_alone() -> None:
    done = _python(PLAIN.format(line="open('/no/such/file')"))
    assert done.stderr.endswith("No such file or directory: '/no/such/file'\n")
    quiet = "import builtins, sys\nbuiltins.__IPYTHON__ = True\nbefore = sys.excepthook\n"
    done = _python(quiet + "import moxing.framework.file\nprint(sys.excepthook is before)")
    assert done.stdout == "True\n"


def _python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=240
    )
