"""Distinguishes object-store URLs from local paths, and parses them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import unquote

from moxing.errors import MoxTypeError, MoxValueError

PathLike = str | os.PathLike[str]

_URL = re.compile(r"(s3|obs)://", re.IGNORECASE)
# pathlib folds the two slashes of a URL into one.
_FOLDED = re.compile(r"(s3|obs):/(?!/)", re.IGNORECASE)
_FILE = re.compile(r"file:(//(localhost)?)?(?=/)", re.IGNORECASE)
_OTHER = re.compile(
    r"(?!(?:s3|obs)://)([a-z][a-z0-9+.-]*)://|(gs|hdfs|viewfs|file):/", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Location:
    """An object, or a directory of objects, in a store.

    Attributes:
      scheme: `"s3"` or `"obs"`; both mean the same store.
      bucket: the name of the bucket.
      key: the object's key without a leading slash. An empty key, or a key that ends in a slash,
        names a directory.
    """

    scheme: str
    bucket: str
    key: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.key}" if self.key else self.top

    @property
    def top(self) -> str:
        """The URL of the bucket."""
        return f"{self.scheme}://{self.bucket}"

    @property
    def names_directory(self) -> bool:
        """Whether the key names a directory."""
        return not self.key or self.key.endswith("/")

    @property
    def prefix(self) -> str:
        """The common prefix of all keys below this directory."""
        return self.key if self.names_directory else f"{self.key}/"

    @property
    def name(self) -> str:
        """The last component, or the bucket's name."""
        return self.key.rstrip("/").rpartition("/")[2] or self.bucket

    def at(self, key: str) -> Location:
        """Returns the location of another key in the same bucket."""
        return Location(self.scheme, self.bucket, key)

    def below(self, name: str) -> Location:
        """Returns the location of `name`, a relative path, below this directory."""
        return self.at(self.prefix + name)


def text(path: PathLike) -> str:
    """Returns the path as a string; that of a `file://` URL is the local path.

    The second slash of a URL, which `pathlib` removes, is there again.

    Raises:
      MoxTypeError: `path` is neither text nor a path object.
      MoxValueError: it is a URL of a kind that can't be read here, such as `hdfs://`, or text that
        has lost a slash, such as `obs:/bucket/data`.
    """
    if isinstance(path, str):
        return _local(path)
    if not isinstance(path, os.PathLike):
        raise MoxTypeError(
            f"a path is text, such as '/cache/data' or 's3://bucket/data', "
            f"not {type(path).__name__}: {path!r}"
        )
    plain = os.fspath(path)
    if not isinstance(plain, str):
        raise MoxTypeError(f"a path is text, not bytes: {plain!r}")
    folded = _FOLDED.match(plain)
    return f"{folded[1]}://{plain[folded.end() :]}" if folded else _local(plain)


def _local(plain: str) -> str:
    if found := _FILE.match(plain):
        return unquote(plain[found.end() :])
    if folded := _FOLDED.match(plain):
        raise MoxValueError(
            f"{plain} has one slash behind the colon, which would be a local folder named"
            f" {folded[1]}:. Write {folded[1]}://{plain[folded.end() :]}, or ./{plain} for such a"
            " folder."
        )
    if other := _OTHER.match(plain):
        kind = other[1] or other[2]
        raise MoxValueError(
            f"{plain}: openmox reads and writes local folders, s3:// and obs://, and {kind}:// is"
            " none of them. Give the path of a folder at which that store is mounted, or copy the"
            " files with the store's own tool, before and after the run."
        )
    return plain


def named(path: PathLike) -> str:
    """Returns the path of a file or directory to create, as a string.

    Raises:
      MoxTypeError: `path` is neither text nor a path object.
      MoxValueError: the path is empty, or is a URL without a bucket.
    """
    plain = text(path)
    if not plain:
        raise MoxValueError(
            "the path to write to is empty; the flag or variable that holds it was left empty"
        )
    if is_remote(plain):
        parse(plain)
    return plain


def is_remote(path: object) -> bool:
    """Whether `path` is the URL of a file or directory in a store (`s3://` or `obs://`)."""
    if isinstance(path, str):
        return _URL.match(path) is not None
    if isinstance(path, os.PathLike):
        plain = os.fspath(path)
        return isinstance(plain, str) and bool(_URL.match(plain) or _FOLDED.match(plain))
    return False


def parse(url: PathLike) -> Location:
    """Parses a URL. Repeated slashes count as one, as in a local path.

    Raises:
      MoxValueError: the URL names no bucket.
    """
    plain = text(url)
    scheme, _, rest = plain.partition("://")
    bucket, _, key = rest.partition("/")
    if not bucket:
        raise MoxValueError(f"{plain!r} names no bucket; write {scheme}://bucket/path")
    return Location(scheme.lower(), bucket, re.sub("/+", "/", key).lstrip("/"))
