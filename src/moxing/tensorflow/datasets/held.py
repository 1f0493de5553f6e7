"""Local copies that the processes of a machine share; the last process to end removes them."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil

from moxing.framework import private


def hold(folder: str, remove: bool) -> None:
    """Keeps a local copy from being removed while this process, or another holder, runs.

    If a copy is just being removed, this function waits for the end of the removal. So a copy that
    exists after this call stays.

    Args:
        folder: the folder of the copy; it need not exist yet, but its parent must.
        remove: whether to remove the copy when this process ends, unless another process holds it.
    """
    descriptor = private.open_to_write(f"{folder}.held", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    atexit.register(_release, folder, descriptor, remove, os.getpid())


def _release(folder: str, descriptor: int, remove: bool, holder: int) -> None:
    if os.getpid() != holder:
        return  # This is a forked child, which shares the lock.
    try:
        if remove:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return  # Another process holds the copy, and removes it later if it should.
    finally:
        os.close(descriptor)
