"""Finds the names in a store that match a pattern, like `glob` on the local disk."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator

from moxing.framework.file.store.entries import reachable, tree
from moxing.framework.file.store.protocol import Info, Store
from moxing.framework.file.urls import Location

_MAGIC = re.compile(r"[*?[]")


def match(store: Store, pattern: Location, recursive: bool) -> Iterator[str]:
    """Yields the URLs that match the key of `pattern`; its bucket is not a pattern.

    Args:
      store: the store to search.
      pattern: a location whose key may have `*`, `?` and `[...]`.
      recursive: whether `**` matches any number of directories.
    """
    names = pattern.key.split("/") if pattern.key else []
    seen: set[str] = set()
    for url in _below(store, pattern.at(""), names, recursive):
        if url not in seen:
            seen.add(url)
            yield url


def _below(store: Store, base: Location, names: list[str], recursive: bool) -> Iterator[str]:
    plain = 0
    while plain < len(names) and not _MAGIC.search(names[plain]):
        plain += 1
    if plain == len(names):
        yield from _exact(store, base.below("/".join(names)) if names else base)
        return
    if plain:
        base = base.below("/".join(names[:plain]) + "/")
    name, rest = names[plain], names[plain + 1 :]
    if name == "**" and recursive:
        yield from _any_depth(store, base, rest)
        return
    start = name[: _MAGIC.search(name).start()]  # type: ignore[union-attr]
    for info in reachable(store.list(base, deep=False, start=start), base):
        if not _fits(_name(info), name):
            continue
        if not rest:
            yield str(base.at(info.key)).rstrip("/")
        elif info.is_directory:
            yield from _inside(store, base.at(info.key), rest, recursive)


def _inside(store: Store, base: Location, rest: list[str], recursive: bool) -> Iterator[str]:
    # A pattern that ends in a slash matches the directories themselves.
    if rest == [""]:
        yield str(base)
    else:
        yield from _below(store, base, rest, recursive)


def _any_depth(store: Store, base: Location, rest: list[str]) -> Iterator[str]:
    if rest:
        yield from _inside(store, base, rest, True)
    elif store.is_directory(base):
        yield str(base)
    start = len(base.prefix)
    for info in reachable(tree(store, base), base):
        if any(part.startswith(".") for part in info.key[start:].split("/")):
            continue
        if not rest:
            yield str(base.at(info.key)).rstrip("/")
        elif info.is_directory:
            yield from _inside(store, base.at(info.key), rest, True)


def _exact(store: Store, where: Location) -> Iterator[str]:
    there = store.is_directory(where) if where.names_directory else store.head(where) is not None
    if there or (not where.names_directory and store.is_directory(where)):
        yield str(where)


def _name(info: Info) -> str:
    return info.key.rstrip("/").rpartition("/")[2]


def _fits(name: str, pattern: str) -> bool:
    if name.startswith(".") and not pattern.startswith("."):
        return False
    return fnmatch.fnmatchcase(name, pattern)
