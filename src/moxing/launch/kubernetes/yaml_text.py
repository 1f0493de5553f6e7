"""Writes nested dicts and lists as YAML."""

from __future__ import annotations

from typing import Any


def lines(value: Any, indent: int = 0) -> list[str]:
    """Returns the lines of YAML for nested dicts and lists."""
    space, written = "  " * indent, []
    pairs = value.items() if isinstance(value, dict) else [(None, item) for item in value]
    for key, item in pairs:
        head = f"{space}-" if key is None else f"{space}{_key(key)}:"
        if isinstance(item, list) and all(isinstance(one, int) for one in item):
            written.append(f"{head} {item}")
        elif not isinstance(item, dict | list):
            written.append(f"{head} {_scalar(item)}")
        elif key is None:
            first, *rest = lines(item, indent + 1)
            written += [f"{head} {first.lstrip()}", *rest]
        else:
            written += [head, *lines(item, indent + 1)]
    return written


def _scalar(value: str | int) -> str:
    """Quotes a string for YAML, which does not read JSON's escapes of characters above 16 bits."""
    if not isinstance(value, str):
        return str(value).lower()  # YAML writes true in lower case.
    parts = (f"\\{c}" if c in '"\\' else c if c.isprintable() else _code(c) for c in value)
    return f'"{"".join(parts)}"'


def _code(char: str) -> str:
    return f"\\U{ord(char):08x}"


def _key(name: str) -> str:
    return name if name.isalnum() else _scalar(name)
