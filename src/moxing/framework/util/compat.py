"""Text conversion under the name that old scripts import."""

from __future__ import annotations

from moxing.errors import MoxTypeError


def as_str(value: bytes | str, encoding: str = "utf-8") -> str:
    """Returns `value` as `str`: bytes are decoded with `encoding`, and text is returned unchanged.

    Raises:
      MoxTypeError: `value` is neither bytes nor text.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode(encoding)
    raise MoxTypeError(f"as_str() takes bytes or str, not {type(value).__name__}: {value!r}")
