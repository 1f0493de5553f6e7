"""One thing that was looked at, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

GOOD, NOTE, BAD = "ok", "note", "BAD"


@dataclass(frozen=True)
class Finding:
    """What was found.

    Attributes:
        verdict: `GOOD`; `NOTE`, which a user should know; or `BAD`, with which nothing runs,
            or which is open to everybody.
        what: what was looked at, in a few words.
        text: what is there, and what to do where that is not good.
    """

    verdict: str
    what: str
    text: str

    def __str__(self) -> str:
        return f"{self.verdict:4}  {self.what}: {self.text}"
