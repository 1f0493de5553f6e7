"""Lists, reads and copies the files of data sets on a disk or in an object store."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Sequence
from typing import BinaryIO

from filelock import FileLock, Timeout

from moxing.errors import MoxRuntimeError, MoxValueError
from moxing.framework import file, private
from moxing.framework.file import publish
from moxing.logs import TENSORFLOW
from moxing.tensorflow.datasets import held

_COMPLETE = ".complete"
_LOCK_SECONDS = 6 * 3600.0  # The wait for another process's copy: large data sets take hours.


def entries(folder: str) -> list[tuple[str, bool]]:
    """Returns (name, whether it is a folder) for each entry of a folder that is not hidden.

    Raises:
        MoxValueError: the folder does not exist, is a file, can't be read, or is incomplete.
    """
    try:
        with file.scan_dir(folder) as found:  # type: ignore[attr-defined]
            hidden, rest = [], []
            for item in found:
                is_folder = item.is_dir()
                if item.name[:1] == ".":
                    hidden.append(item.name)
                elif (
                    is_folder or item.is_file() or not _is_special(os.path.join(folder, item.name))
                ):
                    rest.append((item.name, is_folder))
                else:
                    TENSORFLOW.warning("%s: left out %s, which is no file", folder, item.name)
    except FileNotFoundError as error:
        raise MoxValueError(f"the folder {folder} does not exist.{_hint(folder)}") from error
    except NotADirectoryError as error:
        raise MoxValueError(f"{folder} is a file; it must be a folder.") from error
    except OSError as error:
        raise MoxValueError(f"the folder {folder} can't be read: {reason(error)}.") from error
    publish.refuse_part(folder, hidden)
    return rest


def _is_special(path: str) -> bool:
    """Whether a name is a pipe, a device or a socket: who reads from it may wait forever."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False  # For example, a link that leads nowhere, or a URL.
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def head(path: str, count: int) -> bytes:
    """Returns the first bytes of a file; see `read`."""
    if file.is_remote(path):
        return file.read(path, binary=True)[:count]
    with _opened(path) as stream:
        return stream.read(count)


def _opened(path: str) -> BinaryIO:
    # Without O_NONBLOCK, a named pipe would make this wait for a writer.
    stream = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError(errno.EINVAL, "it is a folder, a pipe or a device, and no file", path)
    return stream


def read(path: str, most: int | None = None) -> bytes:
    """Returns the content of a file.

    Args:
        path: a local path or a URL.
        most: how many bytes a file of this kind may have; None: any number.

    Raises:
        MoxValueError: the file has more bytes.
        OSError: the file can't be read.
    """
    if file.is_remote(path):
        if most is not None and file.get_size(path) > most:
            raise _too_large(path, most)
        return file.read(path, binary=True)
    with _opened(path) as stream:
        content = stream.read(-1 if most is None else most + 1)
    if most is not None and len(content) > most:
        raise _too_large(path, most)
    return content


def _too_large(path: str, most: int) -> MoxValueError:
    return MoxValueError(f"{path} has more than {most >> 20} MiB; it is no file of this kind.")


def reason(error: OSError) -> str:
    """Returns the message of an operating system or store error, without the path."""
    return error.strerror or str(error).rstrip(".")


def local_copy(
    folder: str,
    cache_dir: str | os.PathLike[str] | None,
    remove: bool,
    names: Sequence[str] | None = None,
) -> str:
    """Returns a local folder with copies of the files; reuses an earlier complete copy.

    Args:
        folder: the folder to copy, local or remote.
        cache_dir: the folder for copies; 'ENV' means `$DLS_LOCAL_CACHE_PATH`; None: a folder of
            this user's alone in the directory for the temporary files of mox.file.
        remove: whether to delete the copy when the last process on this machine that uses it ends.
        names: the names of the files to copy; None: all.

    Raises:
        MoxValueError: cache_dir is a URL, or 'ENV' without the environment variable.
        MoxRuntimeError: another user may have made the copies.
        OSError: files can't be copied.
    """
    root = copies(cache_dir)
    origin = folder if file.is_remote(folder) else os.path.abspath(folder)
    key = "\0".join([origin, *(names or ())])
    target = os.path.join(root, f"dataset-{hashlib.sha256(key.encode()).hexdigest()[:16]}")
    os.makedirs(root, exist_ok=True)
    held.hold(target, remove)
    try:
        with FileLock(f"{target}.lock", timeout=_LOCK_SECONDS):
            if not os.path.exists(os.path.join(target, _COMPLETE)):
                TENSORFLOW.info("Copying %s to %s", folder, target)
                file.copy_parallel(folder, target, file_list=names)
                with open(os.path.join(target, _COMPLETE), "w", encoding="utf-8") as mark:
                    mark.write(folder)
    except Timeout as error:
        raise MoxRuntimeError(
            f"another process has been copying {folder} to {target} for hours. If there is none,"
            f" delete {target}.lock."
        ) from error
    return target


def copies(cache_dir: str | os.PathLike[str] | None) -> str:
    """Returns the folder of copies that `cache_dir` selects; see `local_copy`."""
    if cache_dir is None:
        from moxing.framework.file.configuration import tuning

        return private.folder(tuning.staging_dir(), "moxing-datasets")
    if file.is_remote(cache_dir):
        raise MoxValueError(
            f"cache_dir={str(cache_dir)!r}: copies are kept on this machine. Pass a local folder."
        )
    if os.fspath(cache_dir) != "ENV":
        return os.fspath(cache_dir)
    named = os.environ.get("DLS_LOCAL_CACHE_PATH", "")
    if not named:
        raise MoxValueError(
            "cache_dir='ENV' means the folder that the environment variable DLS_LOCAL_CACHE_PATH"
            " names, but it is not set. Set it, or pass a folder."
        )
    return named


def _hint(folder: str) -> str:
    if file.is_remote(folder):
        return ""
    parent = os.path.dirname(os.path.abspath(folder))
    while not os.path.isdir(parent) and parent != os.path.dirname(parent):
        parent = os.path.dirname(parent)
    return f" {parent} is there." if parent != os.sep else ""
