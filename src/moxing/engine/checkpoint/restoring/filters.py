"""Patterns that say which variables to restore, and the pattern to suggest after a mismatch."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

from moxing.errors import MoxValueError

_SHOWN = 10


class Filter:
    """Names to restore: those that match any of `include` (all, if empty) and none of `exclude`.

    Patterns are regular expressions, searched for anywhere in a name. Each argument is a sequence
    of patterns, or one string of patterns separated by commas.

    Raises:
        MoxValueError: a pattern is not a regular expression.
    """

    def __init__(
        self, include: str | Iterable[str] = (), exclude: str | Iterable[str] = ()
    ) -> None:
        self.include = _patterns(include, "checkpoint_include_patterns")
        self.exclude = _patterns(exclude, "checkpoint_exclude_patterns")

    def wants(self, name: str) -> bool:
        """Whether the variable of this name is to be restored."""
        if self.include and not any(pattern.search(name) for pattern in self.include):
            return False
        return not any(pattern.search(name) for pattern in self.exclude)

    def idle(self, names: Sequence[str]) -> list[str]:
        """The patterns that match none of these names; most likely they are misspelled."""
        return [
            pattern.pattern
            for pattern in (*self.include, *self.exclude)
            if not any(pattern.search(name) for name in names)
        ]

    def line_excluding(self, bad: Sequence[str], good: Sequence[str]) -> str:
        """The command-line flag that also skips the variables in `bad`, and none in `good`.

        The flag keeps the exclude patterns of this filter. Where variables in the head of a
        published classifier are bad, it skips the whole scope of the head, such as `logits`.
        """
        known = [pattern.pattern for pattern in self.exclude]
        patterns = ",".join([*known, *_cover(list(bad), list(good))])
        return f"--checkpoint_exclude_patterns={shlex.quote(patterns)}"


def some(names: Sequence[str]) -> str:
    """The first ten of a list, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _patterns(value: str | Iterable[str], flag: str) -> tuple[re.Pattern[str], ...]:
    parts = value.split(",") if isinstance(value, str) else list(value or ())
    compiled = []
    for part in (part.strip() for part in parts):
        if part:
            try:
                compiled.append(re.compile(part))
            except re.error as error:
                raise MoxValueError(
                    f"{flag}: {part!r} is no regular expression ({error}). A plain part of a"
                    " variable's name, such as 'logits', is one."
                ) from error
    return tuple(compiled)


def _cover(bad: list[str], good: list[str]) -> list[str]:
    """A short list of patterns that match all of `bad`."""
    chosen = _heads(bad, good)
    left = [name for name in bad if not any(part in name for part in chosen)]
    patterns = [_literal(part) for part in chosen]
    while left:
        part = _widest(left, good)
        if part is None:
            patterns.append(f"^{_literal(left[0])}$")
            left = left[1:]
        else:
            patterns.append(_literal(part))
            left = [name for name in left if part not in name]
    return patterns


def _heads(bad: list[str], good: list[str]) -> list[str]:
    heads = {
        next((part for part in name.split("/")[:-1] if "logits" in part.lower()), "")
        for name in bad
    } - {""}
    # A scope with such a name may hold the whole model; then it can't be skipped.
    small = [head for head in heads if any(head not in name for name in good)]
    return sorted(small, key=lambda head: (len(head), head))


def _widest(bad: list[str], good: list[str]) -> str | None:
    """The name part that most of `bad` contain and none of `good`; among equals, the shortest."""
    best, score = None, (0, 0)
    for part in sorted({part for name in bad for part in _parts(name)}):
        if any(part in name for name in good):
            continue
        this = (sum(part in name for name in bad), -len(part))
        if this > score:
            best, score = part, this
    return best


def _parts(name: str) -> list[str]:
    """A name's components, and its scopes with their slash: `a/b/c` gives a, b, c, a/ and a/b/."""
    components = name.split("/")
    scopes = ["/".join(components[:depth]) + "/" for depth in range(1, len(components))]
    return components + scopes


def _literal(part: str) -> str:
    return re.escape(part).replace(r"\-", "-")
