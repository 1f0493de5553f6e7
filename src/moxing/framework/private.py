"""Folders in places that users share, such as /tmp, whose content only this user can have made."""

from __future__ import annotations

import contextlib
import os
import stat

from moxing.errors import MoxRuntimeError


def folder(parent: str, name: str) -> str:
    """Returns the folder `NAME-UID` in a parent folder, which is made for this user alone.

    Args:
        parent: the folder to make it in, which is made where it lacks; others may write to it.
        name: what the folder is for.

    Raises:
        MoxRuntimeError: there is such a folder already and it is another user's, or others may
            write to it: what it holds can't be trusted.
        OSError: the folder can't be made.
    """
    path = os.path.join(parent, f"{name}-{os.geteuid()}")
    os.makedirs(parent, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    found = os.lstat(path)  # A link may lead to anybody's folder.
    if not stat.S_ISDIR(found.st_mode):
        problem = "it is no folder"
    elif found.st_uid != os.geteuid():
        problem = f"it belongs to the user with the number {found.st_uid}"
    elif found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        problem = f"its mode {stat.S_IMODE(found.st_mode):04o} lets others write to it"
    else:
        return path
    raise MoxRuntimeError(
        f"{path} can't be trusted: {problem}. Remove it, or name another place for copies with"
        " MOX_FILE_CACHE_DIR."
    )
