"""The errors of files on the local disk and in object stores.

Every class is also a subclass of the built-in exception for the same mistake on a local path, so
code that catches `FileNotFoundError` or `OSError` works for both.
"""

from __future__ import annotations

import errno as codes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from moxing.errors import MoxError


@dataclass(frozen=True)
class Response:
    """A store's answer, without headers and body, and so without credentials.

    Attributes:
      status: the HTTP status code; None: there was no answer.
      errorCode: the store's own code, such as `"NoSuchKey"`.
      errorMessage: the store's own message.
      requestId: the store's id of the request, for its operators.
    """

    status: int | None = None
    errorCode: str = ""  # noqa: N815 (the names that scripts read)
    errorMessage: str = ""  # noqa: N815
    requestId: str = ""  # noqa: N815


class MoxFileError(MoxError, OSError):
    """Base class of every error of `mox.file`.

    Attributes:
      filename: the path or URL of the file, or None.
      errno: the code of the same mistake on a local path, or None.
      resp: the store's `Response`; None: no store was involved.
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
        # OSError's own method would lose the keyword arguments.
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
    """The store refused a request (HTTP status 300 or above), or the request was not sent."""

    code = codes.EIO


class MoxFileReadException(_MoxFileBaseRespException):
    """The store accepted a read but did not deliver the data."""

    code = codes.EIO


class MoxFileNotExistsException(MoxFileRespException, FileNotFoundError):
    """There is no such file or directory."""

    code = codes.ENOENT


class MoxFileNameDuplicateException(MoxFileError, FileExistsError):
    """A store has a file and a directory of the same name, which a local disk can't have."""

    code = codes.EEXIST


class MoxFileExistsException(MoxFileRespException, FileExistsError):
    """The file or directory exists already."""

    code = codes.EEXIST


class MoxFileIsDirectoryException(MoxFileRespException, IsADirectoryError):
    """The path of a directory was given, but a file is needed."""

    code = codes.EISDIR


class MoxFileNotDirectoryException(MoxFileRespException, NotADirectoryError):
    """The path of a file was given, but a directory is needed."""

    code = codes.ENOTDIR


class MoxFilePermissionException(MoxFileRespException, PermissionError):
    """The store does not allow these credentials to do that."""

    code = codes.EACCES


class MoxFileConnectionException(MoxFileRespException, ConnectionError):
    """The store could not be reached, or the connection broke during an answer."""

    code = codes.ECONNREFUSED


@dataclass(frozen=True)
class Failure:
    """A file that was not copied, and the reason."""

    src: str
    dst: str
    reason: str


class MoxFileCopyException(MoxFileRespException):
    """Some files of a tree were not copied; all other files were.

    Attributes:
      failed: one `Failure` for each file that is not at the destination.
    """

    SHOWN: ClassVar[int] = 10

    def __init__(self, message: str, *, failed: Sequence[Failure], url: str | None = None) -> None:
        super().__init__(message, url=url)
        self.failed = tuple(failed)


def copy_error(failed: Sequence[Failure], total: int, dst: str) -> MoxFileCopyException:
    """Returns the error for the files of `failed`; its message names at most ten of them."""
    lines = [f"  {item.src}: {item.reason}" for item in failed[: MoxFileCopyException.SHOWN]]
    if len(failed) > len(lines):
        lines.append(f"  ... and {len(failed) - len(lines)} more (see the error's `failed`)")
    head = f"{len(failed)} of {total} files were not copied to {dst}; the others are there:"
    return MoxFileCopyException("\n".join([head, *lines]), failed=failed, url=dst)
