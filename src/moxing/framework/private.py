"""Folders and files in places that users share, such as /tmp, and that another user may prepare."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from moxing.errors import MoxRuntimeError

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def folder(parent: str, name: str, variable: str = "MOX_FILE_CACHE_DIR") -> str:
    """Returns the folder `NAME-UID` in a parent folder, which is made for this user alone.

    Args:
        parent: the folder that contains it, made if it does not exist; others may write to it.
        name: the purpose of the folder.
        variable: the variable of the environment by which the user names another parent folder.

    Raises:
        MoxRuntimeError: there is such a folder already and it is another user's, or others may
            write to it: its content can't be trusted.
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
    elif found.st_mode & _OTHERS:
        problem = f"its mode {stat.S_IMODE(found.st_mode):04o} lets others write to it"
    else:
        return path
    raise MoxRuntimeError(
        f"{path} can't be trusted: {problem}. Remove it, or name another place for copies with"
        f" {variable}."
    )


def open_to_write(path: str, flags: int, mode: int = 0o666) -> int:
    """Opens a file to write, but follows no link where another user may have put the link.

    In a folder that others may write to, a link in the place of a file that this process writes
    would let them choose any file of this user, to be written over. In a folder of this user alone
    a link is this user's own, and is followed.

    Args:
        path: the file.
        flags: the flags of `os.open`; O_CLOEXEC and O_NONBLOCK are added, so that a named pipe in
            the place of the file does not make this wait.
        mode: the mode of `os.open`.

    Raises:
        OSError: as of `os.open`; ELOOP for a link, which the message names.
    """
    own = os.stat(os.path.dirname(path) or ".")
    shared = own.st_uid != os.geteuid() or own.st_mode & _OTHERS
    extra = os.O_NOFOLLOW if shared else 0
    try:
        return os.open(path, flags | extra | os.O_CLOEXEC | os.O_NONBLOCK, mode)
    except OSError as error:
        if extra and error.errno == errno.ELOOP:
            error.strerror = "it is a link, which others may have made: remove it"
        raise
