"""Lists a folder of a store."""

from __future__ import annotations

from moxing.framework import file


def listing(remote: str) -> dict[str, int | None]:
    """The time of the last change of each entry, in nanoseconds, by name; None for directories.

    A directory that does not exist counts as empty.
    """
    try:
        with file.scan_dir(remote) as entries:  # type: ignore[attr-defined]
            return {
                entry.name.rstrip("/"): None if entry.is_dir() else entry.stat().st_mtime_ns
                for entry in entries
            }
    except FileNotFoundError:
        return {}
