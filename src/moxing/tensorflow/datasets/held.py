"""Local copies that processes of a machine share: the last one to end removes them."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil


def hold(folder: str, remove: bool) -> None:
    """Keeps a copy where it is while this process runs, for it and others that hold it.

    Where one is being removed, it waits for the end of that. So what is found after this call
    stays.

    Args:
        folder: of the copy; it need not be there yet, but its parent must.
        remove: whether to remove it as the process ends, unless another one holds it.
    """
    descriptor = os.open(f"{folder}.held", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    atexit.register(_release, folder, descriptor, remove, os.getpid())


def _release(folder: str, descriptor: int, remove: bool, holder: int) -> None:
    if os.getpid() != holder:
        return  # A forked child, which shares the lock.
    try:
        if remove:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return  # Another process holds it; if that one shall, it removes it.
    finally:
        os.close(descriptor)
