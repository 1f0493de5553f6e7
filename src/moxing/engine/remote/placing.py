"""Puts a checkpoint into a folder of a store, outside of a run that mirrors its folder there."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress

from moxing.engine.checkpoint import best, pointer
from moxing.engine.checkpoint.best import BestFolder
from moxing.engine.checkpoint.names import (
    BEST,
    INDEX,
    INPUT,
    MANIFEST,
    META,
    POINTER,
    data_suffixes,
    prefix_of,
    step_of,
)
from moxing.engine.job.ranking import Ranking
from moxing.engine.remote.contents import listing
from moxing.engine.remote.scratch import room
from moxing.framework import file
from moxing.framework.file.configuration import tuning

_THREADS = 16


def content(prefix: str) -> list[str]:
    """Returns the suffixes of a checkpoint's files except the manifest, which is moved last."""
    return [*data_suffixes(prefix), *there(prefix, INPUT, META), INDEX]


def there(prefix: str, *suffixes: str) -> list[str]:
    """Returns those of the suffixes whose files exist."""
    return [suffix for suffix in suffixes if os.path.exists(prefix + suffix)]


def upload(prefix: str, folder: str) -> None:
    """Copies a checkpoint into a store: data and index, then the manifest.

    Args:
        prefix: the checkpoint, on the local disk.
        folder: the URL of the folder.

    Raises:
        OSError: the store fails.
    """
    name = os.path.basename(prefix)
    pairs = [(prefix + suffix, f"{folder}/{name}{suffix}") for suffix in content(prefix)]
    file.copy_files(pairs, _THREADS)
    for suffix in there(prefix, MANIFEST):
        file.copy(prefix + suffix, f"{folder}/{name}{suffix}")


def point(folder: str, names: list[str]) -> None:
    """Writes a store's pointer file, to the last of these names."""
    with tempfile.TemporaryDirectory() as local:
        pointer.write(local, names, local)
        file.copy(os.path.join(local, POINTER), f"{folder}/{POINTER}")


def adopt(url: str, ranking: Ranking, prefix: str, value: float) -> bool:
    """Copies a checkpoint into `best` of a store's folder if its metric is among the best.

    Args:
        url: the folder of the run.
        ranking: the metric, and how many checkpoints to keep.
        prefix: the checkpoint, on the local disk.
        value: the metric of the checkpoint.

    Returns:
        Whether the checkpoint was copied.

    Raises:
        OSError: the store fails.
    """
    remote = f"{url.rstrip('/')}/{BEST}"
    with room(tuning.staging_dir()) as local:
        here = os.path.join(local, BEST)
        os.makedirs(here)
        names = list(listing(remote))
        known = [name for name in names if name.endswith(MANIFEST)]
        file.copy_files([(f"{remote}/{name}", os.path.join(here, name)) for name in known])
        before = {prefix_of(name) for name in known}
        folder = BestFolder(local, ranking, whole=False)
        if not best.adopt(folder, prefix, value):
            return False
        name = f"model.ckpt-{step_of(prefix) or 0}"
        if name in before:  # No manifest may lie beside files that it does not describe.
            file.remove(f"{remote}/{name}{MANIFEST}")
        upload(os.path.join(here, name), remote)
        kept = [os.path.basename(one.prefix) for one in reversed(folder.kept)]
        point(remote, kept)
        for other in before - set(kept):
            _remove(remote, other, names)
    return True


def _remove(folder: str, name: str, names: list[str]) -> None:
    """Deletes a checkpoint of a store, its index first and its manifest last."""
    own = [other for other in names if prefix_of(other) == name]
    for other in sorted(own, key=lambda one: (one.endswith(MANIFEST), not one.endswith(INDEX))):
        with suppress(FileNotFoundError):
            file.remove(f"{folder}/{other}")
