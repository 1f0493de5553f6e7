"""What can go wrong with a file, here or in an object store.

Every class is also the built-in exception that the same mistake causes on a local path, so code
that catches `FileNotFoundError` or `OSError` works for both.
"""

from __future__ import annotations

import errno as codes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from moxing.errors import MoxError


@dataclass(frozen=True)
class Response:
    """What a store answered. Holds no header and no body, and so no credentials.

    Attributes:
      status: HTTP status code, or None where no answer came.
      errorCode: the store's own code, such as `"NoSuchKey"`.
      errorMessage: the store's own words.
      requestId: the store's id of the request, for its operators.
    """

    status: int | None = None
    errorCode: str = ""  # noqa: N815 (the names that scripts read)
    errorMessage: str = ""  # noqa: N815
    requestId: str = ""  # noqa: N815


class MoxFileError(MoxError, OSError):
    """Base class of every error of `mox.file`.

    Attributes:
      filename: the path or URL concerned, or None.
      errno: the code of the same mistake on a local path, or None.
      resp: the store's `Response`, or None where no store was asked.
    """

    code: ClassVar[int | None] = None
    transient: bool = False

    def __init__(
        self, message: str, *, url: str | None = None, resp: Response | None = None
    ) -> None:
        super().__init__(message)
        self.filename = url
        self.errno = self.code
        self.resp = resp

    def __reduce__(self) -> tuple[Any, ...]:
        # OSError's own would lose what keywords brought.
        return _rebuild, (type(self), self.args[0], self.filename, dict(self.__dict__))


def _rebuild(
    kind: type[MoxFileError], message: str, url: str | None, state: dict[str, Any]
) -> MoxFileError:
    error = kind.__new__(kind, message)
    MoxFileError.__init__(error, message, url=url)
    error.__dict__.update(state)
    return error


class _MoxFileBaseRespException(MoxFileError):
    """An error that a store's answer caused."""


class MoxFileRespException(_MoxFileBaseRespException):
    """The store refused a request (HTTP status 300 or above), or it was not worth sending."""

    code = codes.EIO


class MoxFileReadException(_MoxFileBaseRespException):
    """The store accepted a read and then did not deliver the data."""

    code = codes.EIO


class MoxFileNotExistsException(MoxFileRespException, FileNotFoundError):
    """There is no such file or directory."""

    code = codes.ENOENT


class MoxFileNameDuplicateException(MoxFileError, FileExistsError):
    """A store holds a file and a directory of one name, which a local disk cannot hold."""

    code = codes.EEXIST


class MoxFileExistsException(MoxFileRespException, FileExistsError):
    """The file or directory is already there."""

    code = codes.EEXIST


class MoxFileIsDirectoryException(MoxFileRespException, IsADirectoryError):
    """A directory was given where a file is needed."""

    code = codes.EISDIR


class MoxFileNotDirectoryException(MoxFileRespException, NotADirectoryError):
    """A file was given where a directory is needed."""

    code = codes.ENOTDIR


class MoxFilePermissionException(MoxFileRespException, PermissionError):
    """The store does not let these credentials do that."""

    code = codes.EACCES


class MoxFileConnectionException(MoxFileRespException, ConnectionError):
    """The store could not be reached, or went away in the middle of an answer."""

    code = codes.ECONNREFUSED


@dataclass(frozen=True)
class Failure:
    """One file that was not copied, and why."""

    src: str
    dst: str
    reason: str


class MoxFileCopyException(MoxFileRespException):
    """Some files of a tree were not copied; all others were.

    Attributes:
      failed: one `Failure` for each file that is not at the destination.
    """

    SHOWN: ClassVar[int] = 10

    def __init__(self, message: str, *, failed: Sequence[Failure], url: str | None = None) -> None:
        super().__init__(message, url=url)
        self.failed = tuple(failed)


def copy_error(failed: Sequence[Failure], total: int, dst: str) -> MoxFileCopyException:
    """The error that names the files of `failed`, at most ten of them in its text."""
    lines = [f"  {item.src}: {item.reason}" for item in failed[: MoxFileCopyException.SHOWN]]
    if len(failed) > len(lines):
        lines.append(f"  ... and {len(failed) - len(lines)} more (see the error's `failed`)")
    head = f"{len(failed)} of {total} files were not copied to {dst}; the others are there:"
    return MoxFileCopyException("\n".join([head, *lines]), failed=failed, url=dst)
