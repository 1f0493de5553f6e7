"""Uploads checkpoints: their files, then the manifest that commits them, then the pointer."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress

from moxing.engine.checkpoint import durable, manifest
from moxing.engine.checkpoint.manifest import Manifest
from moxing.engine.checkpoint.names import INDEX, MANIFEST, META
from moxing.engine.checkpoint.saving.retention import is_for_good
from moxing.engine.remote.fetch import Fetched
from moxing.errors import MoxRuntimeError
from moxing.framework import file

THREADS = 4  # Few threads, since the step loop needs the processor, too.


class Commits:
    """The checkpoints of one remote directory, kept equal to those of a local directory.

    Args:
        local: the directory in which the run commits checkpoints.
        remote: the directory to which they are uploaded.
        fetched: the checkpoints found in the remote directory.
        keep: how many checkpoints the remote directory may have.
    """

    def __init__(self, local: str, remote: str, fetched: Fetched, keep: int) -> None:
        self._local, self._remote, self._keep = local, remote, keep
        self._there = dict(fetched.commits)
        self._damaged = set(fetched.damaged)
        self._held = fetched.copied & self._there.keys()
        self._own = set(self._held)

    def waiting(self) -> list[str]:
        """Names of the checkpoints whose present files are not uploaded, newest first."""
        found = manifest.manifests(self._local)
        names = [(os.path.basename(prefix), record) for prefix, record in found]
        names = [(name, record) for name, record in names if not name.startswith("replaced.")]
        self._held.update(name for name, _ in names)
        return [
            name
            for name, record in names
            if self._there.get(name) != record or name in self._damaged
        ]

    def upload(self, name: str) -> None:
        """Uploads a checkpoint, so that the store has the whole checkpoint or no part of it.

        A checkpoint that the run has deleted meanwhile is left out.

        Raises:
            OSError: the store, or the disk, fails.
            MoxRuntimeError: a file in the store has another size than the local file.
        """
        # Upload hard links or copies, which the deletion of old checkpoints does not touch.
        with tempfile.TemporaryDirectory(prefix=".mox-upload-", dir=self._local) as aside:
            record = self._set_aside(name, aside)
            if record is None:
                return
            before = self._there.get(name)
            if before is None or before.files != record.files or name in self._damaged:
                self._send(name, record, aside)
            self._copy(aside, name, [MANIFEST])
            self._there[name] = record
            self._own.add(name)
            self._damaged.discard(name)

    def _send(self, name: str, record: Manifest, aside: str) -> None:
        # The store must never hold a manifest beside files that it does not describe.
        _remove(f"{self._remote}/{name}{MANIFEST}")
        self._there.pop(name, None)
        meta = [META] if os.path.exists(os.path.join(aside, name + META)) else []
        self._copy(aside, name, [*record.files, *meta])
        for suffix, facts in record.files.items():
            size = file.stat(f"{self._remote}/{name}{suffix}").length
            if size != facts.bytes:
                raise MoxRuntimeError(
                    f"{self._remote}/{name}{suffix} has {size} bytes after the upload of"
                    f" {facts.bytes}"
                )

    def _copy(self, aside: str, name: str, suffixes: Iterable[str]) -> None:
        pairs = [
            (os.path.join(aside, name + suffix), f"{self._remote}/{name}{suffix}")
            for suffix in suffixes
        ]
        file.copy_files(pairs, THREADS)

    def _set_aside(self, name: str, aside: str) -> Manifest | None:
        prefix, safe = os.path.join(self._local, name), os.path.join(aside, name)
        try:
            durable.link_or_copy(prefix + MANIFEST, safe + MANIFEST)
            record = manifest.read(safe)
            for suffix in record.files if record is not None else ():
                durable.link_or_copy(prefix + suffix, safe + suffix)
        except FileNotFoundError:
            return None
        with suppress(FileNotFoundError):
            durable.link_or_copy(prefix + META, safe + META)
        return record

    def size(self, name: str) -> int:
        """The size of a local checkpoint in bytes; 0 if it is gone."""
        record = manifest.read(os.path.join(self._local, name))
        return sum(facts.bytes for facts in record.files.values()) if record is not None else 0

    def own(self) -> list[str]:
        """Remote checkpoints with which the run began or that it uploaded, the newest last."""
        return sorted(self._own & self._there.keys(), key=self._age)

    def _age(self, name: str) -> tuple[int, int]:
        return self._there[name].serial, self._there[name].step

    def surplus(self) -> list[str]:
        """Remote checkpoints to delete: those deleted locally, and the oldest beyond the limit.

        The newest remote checkpoint stays even if its local files are deleted: the local
        checkpoints may all be newer and not yet uploaded, and if the run is killed now, the next
        run resumes from it. Checkpoints that are kept for good stay and do not count.
        """
        here = {os.path.basename(prefix) for prefix, _ in manifest.manifests(self._local)}
        counted = [name for name, record in self._there.items() if not is_for_good(record)]
        spare = [name for name in counted if name not in here.union(self.own()[-1:])]
        spare.sort(key=self._age)
        gone = [name for name in spare if name in self._held]
        others = [name for name in spare if name not in self._held]
        return gone + others[: max(0, len(counted) - len(gone) - self._keep)]

    def retain(self) -> None:
        """Deletes the `surplus`, the oldest first.

        Raises:
            OSError: the store fails.
        """
        for name in self.surplus():
            self._delete(name)

    def _delete(self, name: str) -> None:
        # The index goes first, so that no program takes a half-deleted checkpoint for a whole one;
        # the manifest goes last.
        for suffix in (INDEX, *(s for s in self._there[name].files if s != INDEX), META, MANIFEST):
            _remove(f"{self._remote}/{name}{suffix}")
        del self._there[name]


def _remove(url: str) -> None:
    with suppress(FileNotFoundError):
        file.remove(url)
