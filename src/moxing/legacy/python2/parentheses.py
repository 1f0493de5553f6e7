"""Finds a surplus parenthesis, and shows the line without that parenthesis."""

from __future__ import annotations

import re

_UNMATCHED = re.compile(r"unmatched '(.)'")


def about(error: SyntaxError) -> str:
    """Returns a sentence on a closing parenthesis without an opening one, or an empty text."""
    found, line, offset = _UNMATCHED.match(error.msg or ""), error.text or "", error.offset or 0
    if found is None or line[offset - 1 : offset] != found[1]:
        return ""
    mended = (line[: offset - 1] + line[offset:]).strip()
    return (
        f"the {found[1]!r} in column {offset} closes nothing. Delete it, so that the line reads:"
        f" {mended}"
    )
