"""Moves a staged checkpoint to its final place atomically: as a whole or not at all."""

from __future__ import annotations

import filecmp
import os
from contextlib import suppress

from moxing.engine.checkpoint import durable, manifest
from moxing.engine.checkpoint.manifest import Manifest
from moxing.engine.checkpoint.names import INDEX, INPUT, MANIFEST, META, data_suffixes


def commit(staged: str, final: str, record: Manifest) -> None:
    """Renames the staged files to `final`; renaming the manifest comes last and is the commit.

    An existing checkpoint of the same name stays valid until the new one is committed, under its
    own name or under that name with `replaced.` in front. If the commit fails, the existing
    checkpoint is put back.

    Args:
        staged: prefix of the synced files, in a stage inside the directory of `final`.
        final: prefix that the files get.
        record: the manifest to write.
    """
    durable.write(staged + MANIFEST, manifest.encode(record))
    if _is_same(staged, final, record):
        _publish_manifest(staged, final)
        return
    old = _replaced(final)
    if os.path.exists(final + INDEX):
        _duplicate(final, old, aside=os.path.dirname(staged))
    try:
        _exchange(staged, final, record)
        _publish_manifest(staged, final)
    except BaseException:
        _take_back(final, old, record)
        raise
    with suppress(OSError):  # The checkpoint is committed; files left over here do no harm.
        for suffix in {*data_suffixes(final), *_input(final)} - set(record.files):
            os.remove(final + suffix)
        remove(old)


def remove(prefix: str) -> None:
    """Deletes a checkpoint, its index first: no program then sees a half-deleted checkpoint.

    The manifest is deleted last, so that a later run sees which files remain to be deleted.
    """
    for suffix in (INDEX, *data_suffixes(prefix), INPUT, META, MANIFEST):
        with suppress(FileNotFoundError):
            os.remove(prefix + suffix)


def _replaced(final: str) -> str:
    directory, name = os.path.split(final)
    return os.path.join(directory, "replaced." + name)


def _input(prefix: str) -> list[str]:
    return [INPUT] if os.path.exists(prefix + INPUT) else []


def _is_same(staged: str, final: str, record: Manifest) -> bool:
    """Whether `final` already has the same bytes, as when a resumed run saves immediately."""
    try:
        return all(filecmp.cmp(staged + s, final + s, shallow=False) for s in record.files)
    except FileNotFoundError:
        return False


def _duplicate(final: str, old: str, aside: str) -> None:
    """Gives a checkpoint a second name, under which it is valid too."""
    remove(old)
    try:
        for suffix in (*data_suffixes(final), *_input(final), INDEX):
            durable.link_or_copy(final + suffix, old + suffix)
        if os.path.exists(final + MANIFEST):
            with open(final + MANIFEST, "rb") as file:
                durable.replace(old + MANIFEST, file.read(), aside)
        durable.sync_directory(os.path.dirname(final))
    except BaseException:
        remove(old)
        raise


def _exchange(staged: str, final: str, record: Manifest) -> None:
    # Remove the old manifest first: a manifest must never lie beside files it does not describe.
    with suppress(FileNotFoundError):
        os.remove(final + MANIFEST)
    for suffix in sorted(record.files, key=lambda suffix: suffix == INDEX):
        os.replace(staged + suffix, final + suffix)


def _publish_manifest(staged: str, final: str) -> None:
    if os.path.exists(staged + META):
        os.replace(staged + META, final + META)
    os.replace(staged + MANIFEST, final + MANIFEST)
    durable.sync_directory(os.path.dirname(final))


def _take_back(final: str, old: str, record: Manifest) -> None:
    """Undoes an exchange that did not reach its commit, as far as the disk allows."""
    there = manifest.read(final)
    if there is not None and there.serial == record.serial:
        return
    with suppress(OSError):
        if not os.path.exists(old + INDEX):
            remove(final)
            return
        for suffix in (*data_suffixes(old), INPUT, INDEX, MANIFEST):
            if os.path.exists(old + suffix):
                os.replace(old + suffix, final + suffix)
