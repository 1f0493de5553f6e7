"""The parts of a page: its frame, its tables and its times."""

from __future__ import annotations

import datetime
import importlib.resources
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any


def document(title: str, parts: Iterable[str]) -> str:
    """Returns a page, given its title as text and its parts as HTML; empty parts are left out."""
    template = (
        importlib.resources.files("moxing.engine.reporting.records")
        .joinpath("page.html")
        .read_text("utf-8")
    )
    filled = {"TITLE": escape(title), "BODY": "\n".join(filter(None, parts))}
    return re.sub("%%(TITLE|BODY)%%", lambda found: filled[found[1]], template)


def table(
    title: str,
    anchor: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    text: set[int],
    words: str = "",
) -> str:
    """Returns a table with its heading; without rows, only the heading.

    Args:
        title: the heading.
        anchor: the heading's id in the page.
        head: the names of the columns.
        rows: the cells of each row.
        text: the positions of columns of text; all others hold numbers.
        words: a sentence above the table.
    """
    content = f'<h2 id="{anchor}">{title}</h2>{f"<p>{words}</p>" if words else ""}'
    if not rows:
        return content
    kinds = ["" if index in text else ' class="n"' for index in range(len(head))]
    top = "".join(f"<th{k}>{escape(name)}</th>" for k, name in zip(kinds, head, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f"<td{k}>{escape(cell)}</td>" for k, cell in zip(kinds, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return f'{content}<div class="table"><table><tr>{top}</tr>{body}</table></div>'


def pairs(title: str, anchor: str, values: Mapping[str, Any]) -> str:
    """Returns a heading and a table of names and values; empty values are left out."""
    shown = {name: value for name, value in values.items() if value not in (None, "")}
    rows = "".join(
        f"<tr><th>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>"
        for name, value in shown.items()
    )
    body = (
        f'<div class="table"><table class="pair">{rows}</table></div>' if rows else "<p>None.</p>"
    )
    return f'<h2 id="{anchor}">{title}</h2>{body}'


def moment(seconds: Any) -> str:
    """Words a time in seconds since 1970, in this machine's zone; empty if it is not a time."""
    try:
        when = datetime.datetime.fromtimestamp(float(seconds)).astimezone()
    except (ValueError, OverflowError, OSError, TypeError):
        return ""
    return when.isoformat(sep=" ", timespec="seconds")
