"""Where data sets are: folders and files on a disk or in an object store, and local copies."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from filelock import FileLock, Timeout

from moxing.errors import MoxRuntimeError, MoxValueError
from moxing.framework import file
from moxing.framework.file import publish
from moxing.logs import TENSORFLOW
from moxing.tensorflow.datasets import held

_COMPLETE = ".complete"
_LOCK_SECONDS = 6 * 3600.0  # Another process copies; large sets take hours.


def entries(folder: str) -> list[tuple[str, bool]]:
    """Name, and whether it is a folder, of all that is in a folder and not hidden.

    Raises:
        MoxValueError: it is not there, is a file, can't be read, or is not whole.
    """
    try:
        with file.scan_dir(folder) as found:  # type: ignore[attr-defined]
            hidden, rest = [], []
            for item in found:
                if item.name[:1] == ".":
                    hidden.append(item.name)
                else:
                    rest.append((item.name, item.is_dir()))
    except FileNotFoundError as error:
        raise MoxValueError(f"the folder {folder} does not exist.{_hint(folder)}") from error
    except NotADirectoryError as error:
        raise MoxValueError(f"{folder} is a file; it must be a folder.") from error
    except OSError as error:
        raise MoxValueError(f"the folder {folder} can't be read: {reason(error)}.") from error
    publish.refuse_part(folder, hidden)
    return rest


def read(path: str) -> bytes:
    """The content of a file. Raises OSError."""
    if not file.is_remote(path):
        with open(path, "rb") as stream:
            return stream.read()
    return file.read(path, binary=True)


def reason(error: OSError) -> str:
    """What an error of the system, or of a store, says, without the path."""
    return error.strerror or str(error).rstrip(".")


def local_copy(
    folder: str,
    cache_dir: str | os.PathLike[str] | None,
    remove: bool,
    names: Sequence[str] | None = None,
) -> str:
    """A local folder with the files of `folder`, copied there unless an earlier copy is whole.

    Args:
        folder: local or remote.
        cache_dir: where to make it; 'ENV' means `$DLS_LOCAL_CACHE_PATH`; None: the directory that
            mox.file keeps temporary files in.
        remove: whether to delete it when the last process of the machine that uses it ends.
        names: only these files; None: all.

    Raises:
        MoxValueError: 'ENV' without the environment variable, or a URL.
        OSError: files that can't be copied.
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
    """The folder of copies that `cache_dir` means; see `local_copy`."""
    if cache_dir is None:
        from moxing.framework.file.configuration import tuning

        return os.path.join(tuning.staging_dir(), "moxing-datasets")
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
