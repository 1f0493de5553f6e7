"""The result of one check, with advice."""

from __future__ import annotations

from dataclasses import dataclass

from moxing.errors import escaped, on_lines

GOOD, NOTE, BAD = "ok", "note", "BAD"


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        verdict: `GOOD`; `NOTE`, a fact that a user should know; or `BAD`, a problem with which no
            job runs, or which leaves a port open to everybody.
        what: the checked thing, in a few words.
        text: the state of that thing, and advice if it is not good.
    """

    verdict: str
    what: str
    text: str

    def __str__(self) -> str:
        return f"{self.verdict:4}  {escaped(self.what)}: {on_lines(self.text)}"
