"""Parts of an object keep the rules of the S3 protocol and lose no byte."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moxing.framework.file.configuration.tuning import GIB, LEAST_PART, MIB, MOST_PART, MOST_PARTS
from moxing.framework.file.store import parts
from moxing.framework.file.store.protocol import Span
from moxing.framework.file.urls import Location

sizes = st.one_of(
    st.integers(0, 3 * LEAST_PART),
    st.integers(0, 40 * GIB),
    st.sampled_from([0, 1, LEAST_PART - 1, LEAST_PART, LEAST_PART + 1, 256 * MIB, 5 * GIB]),
)


@st.composite
def pieces(draw: st.DrawFn) -> list[Span]:
    """Some spans, of local files and of objects, which need not begin at 0."""
    made = []
    for number in range(draw(st.integers(0, 5))):
        start = draw(st.integers(0, 100))
        size = draw(sizes)
        where = Location("s3", "b", f"k{number}") if draw(st.booleans()) else None
        fd = -1 if where else number
        made.append(Span(start, start + size, fd, where))
    return made


@given(pieces(), st.integers(LEAST_PART, 64 * MIB))
def test_parts_cover_all_bytes_in_order(spans: list[Span], part_size: int) -> None:
    planned = parts.plan(spans, part_size)
    flat = [span for part in planned for span in part]
    joined: list[Span] = []
    for span in flat:
        assert span.size > 0
        last = joined[-1] if joined else None
        if last and (last.fd, last.where) == (span.fd, span.where) and last.stop == span.start:
            joined[-1] = Span(last.start, span.stop, span.fd, span.where)
        else:
            joined.append(span)
    assert joined == [span for span in spans if span.size]


@given(pieces(), st.integers(LEAST_PART, 64 * MIB))
def test_parts_keep_the_rules_of_the_protocol(spans: list[Span], part_size: int) -> None:
    planned = parts.plan(spans, part_size)
    measured = [sum(span.size for span in part) for part in planned]
    assert len(planned) <= MOST_PARTS
    assert all(size >= LEAST_PART for size in measured[:-1])
    assert all(size <= MOST_PART for size in measured)


@given(pieces(), st.integers(LEAST_PART, 64 * MIB))
def test_little_is_held_in_memory(spans: list[Span], part_size: int) -> None:
    total = sum(span.size for span in spans)
    most = max(part_size, parts.fitting(part_size, total, MOST_PARTS - len(spans)))
    for part in parts.plan(spans, part_size):
        if not parts.copied_inside(part):
            assert sum(span.size for span in part) <= most + LEAST_PART


def test_sizes_that_need_no_thought() -> None:
    local = [Span(0, 25 * MIB, 0)]
    assert [part[0].size // MIB for part in parts.plan(local, 10 * MIB)] == [10, 10, 5]
    assert parts.plan([], 10 * MIB) == []
    # A file of 200 GiB in parts of 10 MiB would be 20,480 parts.
    assert len(parts.plan([Span(0, 200 * GIB, 0)], 10 * MIB)) <= MOST_PARTS


def test_appending_copies_the_old_part_inside_the_store() -> None:
    old = Location("s3", "b", "k")
    planned = parts.plan([Span(0, 600 * MIB, where=old), Span(0, 100, 3)], 10 * MIB)
    assert [parts.copied_inside(part) for part in planned] == [True, True, True, False]
    assert planned[-1] == (Span(0, 100, 3),)
