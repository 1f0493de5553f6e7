"""What to tell a user whose code gave a URL to a function that only knows local paths."""

from __future__ import annotations

from moxing.framework.file.errors import MoxFileError
from moxing.framework.file.urls import is_remote


def hint(error: BaseException) -> str | None:
    """A sentence to print below `error`, or None where it has nothing to do with URLs.

    For launchers: `open('s3://bucket/a')` says "No such file or directory", which does not help.
    """
    if not isinstance(error, OSError) or isinstance(error, MoxFileError):
        return None
    for name in (error.filename, error.filename2):
        if is_remote(name):
            return (
                f"{name} is in an object store, which Python's own functions can't read: use "
                "mox.file (such as mox.file.File instead of open), or call "
                "mox.file.shift('os', 'mox') first"
            )
    return None
