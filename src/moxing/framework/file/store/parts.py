"""Plans the parts of an assembled object within the limits of the S3 protocol."""

from __future__ import annotations

from collections.abc import Sequence

from moxing.framework.file.configuration.tuning import LEAST_PART, MIB, MOST_PARTS
from moxing.framework.file.store.protocol import Span

# A copy inside the store needs no local memory, so its parts can be larger.
COPY_PART = 256 * MIB

Part = tuple[Span, ...]


def fitting(part_size: int, total: int, parts: int = MOST_PARTS) -> int:
    """Returns `part_size`, or more if `total` bytes would need more than `parts` parts."""
    return max(part_size, -(-total // parts))


def plan(spans: Sequence[Span], part_size: int) -> list[Part]:
    """Divides `spans` into parts; each part is one span, or several small spans to join.

    Every part except the last has at least 5 MiB. A part that is a single span of an object, and
    has this size or is the last part, can be copied inside the store (`copied_inside`).
    """
    spans = [span for span in spans if span.size > 0]
    total = sum(span.size for span in spans)
    # Each span may end with a short part, so reserve that many parts.
    room = MOST_PARTS - len(spans)
    sent = max(LEAST_PART, fitting(part_size, total, room))
    inside = max(COPY_PART, fitting(part_size, total, room))
    parts: list[Part] = []
    held: list[Span] = []
    for span in spans:
        rest = _top_up(held, span)
        if held and sum(item.size for item in held) >= LEAST_PART:
            parts.append(tuple(held))
            held = []
        if rest is None:
            continue
        pieces = _slices(rest, inside if rest.where is not None else sent)
        parts.extend((piece,) for piece in pieces[:-1])
        held = [pieces[-1]]
        if pieces[-1].size >= LEAST_PART:
            parts.append((pieces[-1],))
            held = []
    if held:
        parts.append(tuple(held))
    return parts


def copied_inside(part: Part) -> bool:
    """Whether the store can copy this part from one of its own objects.

    A part below 5 MiB is always the last one, which has no minimum size.
    """
    return len(part) == 1 and part[0].where is not None


def _top_up(held: list[Span], span: Span) -> Span | None:
    """Moves bytes from `span` to `held` until it is a part; returns the rest of `span`, or None."""
    if not held:
        return span
    lacking = LEAST_PART - sum(item.size for item in held)
    taken = min(max(lacking, 0), span.size)
    if taken:
        held.append(span.cut(0, taken))
    return span.cut(taken, span.size) if taken < span.size else None


def _slices(span: Span, size: int) -> list[Span]:
    return [span.cut(at, min(at + size, span.size)) for at in range(0, span.size, size)]
