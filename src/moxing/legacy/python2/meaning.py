"""Operations of Python 2 that Python 3 lacks; ported programs call these functions."""

from __future__ import annotations

import builtins
import codecs
import decimal
import functools
import io
import math
import operator
import re
from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

import numpy as np

from moxing.legacy.python2 import binaries

__all__ = [
    "StringIO",
    "cmp",
    "cmp_to_key",
    "decode",
    "divide",
    "divide_in_place",
    "encode",
    "fdopen",
    "message",
    "of_graph",
    "of_message",
    "open",
    "round",
    "text",
]

_ESCAPE = "surrogateescape"
# Codecs of Python 2 from text to text.
_OF_TEXT = ("hex", "base64", "zlib", "bz2", "rot13", "rot_13", "quopri", "uu", "string_escape")
_UNREADABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_INTEGERS = (int, np.integer, np.bool_)


def _is_integer(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "iub"
    return isinstance(value, _INTEGERS)


def divide(a: Any, b: Any) -> Any:
    """Returns `a / b`, rounded down if both are integers, including NumPy's integers.

    Raises:
        ZeroDivisionError: an integer that is not NumPy's is divided by 0.
    """
    if _is_integer(a) and _is_integer(b):
        return a // b
    for method, one, other in (("__div__", a, b), ("__rdiv__", b, a)):
        own = getattr(type(one), method, None)
        if own is not None:
            result = own(one, other)
            if result is not NotImplemented:
                return result
    return a / b


def divide_in_place(a: Any, b: Any) -> Any:
    """Returns the new value of `a` after `a /= b`; arrays are changed in place."""
    own = getattr(type(a), "__idiv__", None)
    if own is not None:
        return own(a, b)
    if isinstance(a, np.ndarray):
        if _is_integer(a) and _is_integer(b):
            return operator.ifloordiv(a, b)
        return operator.itruediv(a, b)
    return divide(a, b)


def cmp(a: Any, b: Any) -> int:
    """Returns -1, 0 or 1 if `a` is less than, equal to or greater than `b`."""
    return int(a > b) - int(a < b)


def round(number: Any, ndigits: int = 0) -> float:
    """Returns the nearest float with `ndigits` decimals; a tie is rounded away from 0."""
    value = float(number)
    if not math.isfinite(value):
        return value
    unit = decimal.Decimal(1).scaleb(-ndigits)
    # This is exact: a float has at most 1074 decimals.
    with decimal.localcontext(prec=1500):
        return float(decimal.Decimal(value).quantize(unit, decimal.ROUND_HALF_UP))


def decode(value: Any, encoding: str = "utf-8", errors: str = "strict") -> Any:
    """Returns `value.decode(encoding)` of bytes, or of text that was read from a UTF-8 file."""
    if not isinstance(value, str):
        return value.decode(encoding, errors)
    if encoding.lower() in _OF_TEXT:
        return _by_codec(codecs.decode, value, encoding)
    if not value.isascii() and not _has_lost_bytes(value) and _is_utf8(encoding):
        return value
    return value.encode("utf-8", _ESCAPE).decode(encoding, errors)


def encode(value: Any, encoding: str = "utf-8", errors: str = "strict") -> Any:
    """Replaces `value.encode(encoding)` if the program uses the result as text."""
    if isinstance(value, str) and encoding.lower() in _OF_TEXT:
        return _by_codec(codecs.encode, value, encoding)
    if isinstance(value, str):
        return value.encode(encoding, errors).decode("utf-8", _ESCAPE)
    return value.encode(encoding, errors)


def _by_codec(function: Callable[..., Any], value: str, encoding: str) -> str:
    if encoding.startswith("rot"):
        return function(value, encoding)
    name = "unicode_escape" if encoding == "string_escape" else encoding
    result = function(value.encode("utf-8", _ESCAPE), name)
    return result if isinstance(result, str) else result.decode("utf-8", _ESCAPE)


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8")


def _has_lost_bytes(value: str) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in value)


def text(value: Any, encoding: str = "ascii", errors: str = "strict") -> str:
    """Returns `unicode(value, encoding, errors)`."""
    return decode(value, encoding, errors)


def of_message(value: Any) -> Any:
    """Returns an item, or items, of a `tf.train.BytesList`: as text if people can read it.

    Programs put words there as well as pictures, and pictures have bytes that are no text.
    """
    if isinstance(value, list):
        return [of_message(item) for item in value]
    try:
        shown = value.decode("utf-8")
    except UnicodeDecodeError:
        return value
    return value if _UNREADABLE.search(shown) else shown


def of_graph(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function for `tf.py_func` that gets bytes as `of_message` shows them."""

    @functools.wraps(function, updated=())
    def call(*values: Any) -> Any:
        return function(*(_of_tensor(value) for value in values))

    return call


def _of_tensor(value: Any) -> Any:
    if isinstance(value, bytes):
        return of_message(value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        shown = np.empty_like(value)
        shown.flat = [of_message(item) for item in value.flat]
        return shown
    return value


def message(error: BaseException) -> str:
    """Returns `error.message`: the exception's only argument, else an empty text."""
    own = getattr(error, "message", None)
    if own is not None:
        return own
    return error.args[0] if len(error.args) == 1 else ""


def open(name: Any, mode: str = "r", buffering: int = -1) -> Any:
    """`open(name, mode)`: text is UTF-8, and other bytes pass through unchanged.

    A line ends at `\\n`; with `U` in the mode at `\\r` and `\\r\\n` too. Bytes can be written too,
    and text into binary files.
    """
    # On Linux, t says nothing in Python 2.
    plain = mode.replace("U", "").replace("t", "") or "r"
    if "b" in plain:
        return binaries.accepting(
            builtins.open(name, plain, -1 if buffering in (0, 1) else buffering),
            at_once=buffering == 0,
        )
    if plain[0] not in "rwax":
        plain = "r" + plain
    newline = None if "U" in mode else "\n"
    # 0 means no buffer in Python 2; text files of Python 3 need a buffer.
    file = builtins.open(name, plain + "b", -1 if buffering in (0, 1) else buffering)  # noqa: SIM115
    if not isinstance(file, io.BufferedIOBase):
        return file  # The program has replaced the function.
    text_file = _TextFile(file, "utf-8", _ESCAPE, newline, line_buffering=buffering == 1)
    text_file.mode, text_file.at_once = mode, buffering == 0
    return text_file


def fdopen(fd: int, mode: str = "r", bufsize: int = -1) -> Any:
    """`os.fdopen(fd, mode, bufsize)`: `open` of a descriptor."""
    return open(fd, mode, bufsize)


class _TextFile(io.TextIOWrapper):
    """A text file that also accepts bytes."""

    mode = "r"  # type: ignore[assignment]
    at_once = False

    def write(self, s: Any, /) -> int:
        if isinstance(s, bytes):
            self.flush()
            self.buffer.write(s)
        else:
            super().write(s)
        if self.at_once:
            self.flush()
        return len(s)


class StringIO(io.BytesIO):
    """A file in memory that holds text, or bytes as soon as a part of its content is bytes."""

    def __init__(self, buf: Any = "") -> None:
        self._text = isinstance(buf, str)
        super().__init__(_bytes(buf))

    def write(self, s: Any) -> int:  # type: ignore[override]
        self._text = self._text and isinstance(s, str)
        return super().write(_bytes(s))

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def _shown(self, data: bytes) -> Any:
        return data.decode("utf-8", _ESCAPE) if self._text else data

    def getvalue(self) -> Any:  # type: ignore[override]
        return self._shown(super().getvalue())

    def read(self, size: int | None = -1) -> Any:  # type: ignore[override]
        return self._shown(super().read(size))

    def readline(self, size: int | None = -1) -> Any:  # type: ignore[override]
        return self._shown(super().readline(size))

    def readlines(self, hint: int | None = -1) -> Any:  # type: ignore[override]
        return [self._shown(line) for line in super().readlines(hint)]

    def __next__(self) -> Any:
        return self._shown(super().__next__())


def _bytes(value: Any) -> bytes:
    return value.encode("utf-8", _ESCAPE) if isinstance(value, str) else bytes(value)
