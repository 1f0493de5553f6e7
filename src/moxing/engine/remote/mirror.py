"""Finds the files of a directory that its remote copy lacks, and uploads them in a safe order."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from moxing.engine.checkpoint import pointer
from moxing.engine.checkpoint.names import MANIFEST, POINTER, prefix_of
from moxing.engine.remote.commits import THREADS, Commits
from moxing.engine.remote.fetch import Fetched
from moxing.errors import MoxError
from moxing.framework import file

KEEP = 5  # Checkpoints of a directory elsewhere that are not here, and were not made by this run.
PLAIN_SECONDS = 30.0
_MODEL = "saved_model.pb"
_SHARE = 20  # Uploads of a growing file take at most this fraction of the time: 1 / _SHARE.

_Stamp = tuple[int, int]  # Size and time of the last change.


@dataclass
class Waiting:
    """The files that are not uploaded yet.

    Attributes:
        files: the number of files or checkpoints.
        bytes: their size.
        reason: why an upload failed; empty if none did.
    """

    files: int = 0
    bytes: int = 0
    reason: str = ""


class _LostError(Exception):
    """Another run trains in the remote directory now."""


@dataclass
class _Plain:
    sent: _Stamp | None = None
    tried: float = 0.0
    took: float = 0.0


@dataclass
class Mirror:
    """Keeps a remote directory equal to a local one, by repeated rounds of uploads.

    Args:
        local: the directory.
        remote: the copy.
        fetched: the checkpoints that were found in each directory, by relative path (`""` for the
            directory itself).
        confirm: called once in each round with uploads; if it returns False, nothing is uploaded.
    """

    local: str
    remote: str
    fetched: dict[str, Fetched]
    confirm: Callable[[], bool]
    _commits: dict[str, Commits] = field(default_factory=dict)
    _plain: dict[str, _Plain] = field(default_factory=dict)
    _pointed: dict[str, str] = field(default_factory=dict)
    _confirmed: bool = False

    def __post_init__(self) -> None:
        """Records that the fetched files need no upload."""
        for path, stamp in self._files():
            self._plain[path] = _Plain(stamp)

    def round(self, final: bool) -> Waiting:
        """Uploads the files that are due, the newest checkpoint first, and returns the rest.

        Args:
            final: whether all files are due; else growing files wait for their turn.
        """
        waiting = Waiting()
        self._confirmed = False
        try:
            self._upload(final, waiting)
        except _LostError:
            return Waiting()
        return waiting

    def _upload(self, final: bool, waiting: Waiting) -> None:
        files = dict(self._files())
        folders = {os.path.dirname(path) for path in files if path.endswith(MANIFEST)}
        for folder in sorted(folders):
            self._upload_commits(folder, waiting)
        models = {os.path.dirname(p) for p in files if os.path.basename(p) == _MODEL}
        for path, stamp in sorted(files.items(), key=lambda item: _rank(item[0])):
            if self._is_due(path, stamp, final, folders, models):
                self._upload_plain(path, stamp, waiting)

    def _ask(self) -> None:
        """Raises an error if another run has taken the directory."""
        if not self._confirmed and not self.confirm():
            raise _LostError
        self._confirmed = True

    def _upload_commits(self, folder: str, waiting: Waiting) -> None:
        commits = self._commits_of(folder)
        tried: set[str] = set()
        try:
            # More checkpoints may be saved meanwhile, so each turn looks for the newest. The number
            # of turns is fixed, because other files wait, too.
            for _ in commits.waiting():
                name = next((n for n in commits.waiting() if n not in tried), None)
                if name is None:
                    break
                tried.add(name)
                self._ask()
                commits.upload(name)
                self._point(folder)
        except (OSError, MoxError) as error:
            waiting.reason = _brief(error)
            left = commits.waiting()
            waiting.files += max(1, len(left))
            waiting.bytes += sum(commits.size(name) for name in left)
        else:
            self._tidy(folder, commits, waiting)

    def _tidy(self, folder: str, commits: Commits, waiting: Waiting) -> None:
        try:
            self._point(folder)
            if commits.surplus():
                self._ask()
                commits.retain()
        except (OSError, MoxError) as error:
            waiting.files += 1
            waiting.reason = _brief(error)

    def _point(self, folder: str) -> None:
        path = os.path.join(folder, POINTER)
        stamp = _stamp(os.path.join(self.local, path))
        known = self._plain.setdefault(path, _Plain())
        if stamp is None or stamp == known.sent:
            return
        if self._leads_somewhere(folder):
            self._copy(path)
            known.sent = stamp
            return
        # A checkpoint was committed since. The remote pointer must not be older than the remote
        # checkpoints.
        names = self._commits_of(folder).own()
        if names and names[-1] != self._pointed.get(folder):
            with tempfile.TemporaryDirectory(prefix=".mox-upload-", dir=self.local) as aside:
                pointer.write(aside, names, aside)
                self._copy(path, os.path.join(aside, POINTER))
            self._pointed[folder] = names[-1]

    def _leads_somewhere(self, folder: str) -> bool:
        """Whether the checkpoint that the pointer file names now is completely uploaded."""
        target = pointer.read(os.path.join(self.local, folder))
        names = [] if target is None or target.fault else [os.path.basename(target.newest)]
        waiting = self._commits_of(folder).waiting()
        return not any(name in waiting for name in names)

    def _commits_of(self, folder: str) -> Commits:
        if folder not in self._commits:
            self._commits[folder] = Commits(
                os.path.join(self.local, folder) if folder else self.local,
                f"{self.remote}/{folder}" if folder else self.remote,
                self.fetched.get(folder, Fetched()),
                KEEP,
            )
        return self._commits[folder]

    def _is_due(
        self, path: str, stamp: _Stamp, final: bool, folders: set[str], models: set[str]
    ) -> bool:
        known = self._plain.get(path)
        if known is not None and known.sent == stamp:
            return False
        folder, name = os.path.split(path)
        if folder in folders and (name == POINTER or _is_of_commit(self.local, path)):
            return False
        if final or _inside(folder, models):
            return True
        if known is None:
            self._plain[path] = _Plain(None, time.monotonic())
            return False
        pause = max(PLAIN_SECONDS, _SHARE * known.took)
        return time.monotonic() - known.tried >= pause

    def _upload_plain(self, path: str, stamp: _Stamp, waiting: Waiting) -> None:
        known = self._plain.setdefault(path, _Plain())
        began = time.monotonic()
        try:
            # A model's own file tells readers that its other files are complete.
            if os.path.basename(path) == _MODEL and waiting.reason:
                raise OSError(waiting.reason)
            self._copy(path)
            known.sent = stamp
        except (OSError, MoxError) as error:
            if os.path.exists(os.path.join(self.local, path)):
                waiting.files += 1
                waiting.bytes += stamp[0]
                waiting.reason = _brief(error)
        known.tried = time.monotonic()
        known.took = known.tried - began

    def _copy(self, path: str, source: str | None = None) -> None:
        self._ask()
        source = source or os.path.join(self.local, path)
        file.copy_files([(source, f"{self.remote}/{path}")], THREADS)

    def _files(self) -> Iterator[tuple[str, _Stamp]]:
        """The relative path and stamp of each file that is not hidden."""
        for root, folders, names in os.walk(self.local):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                path = os.path.join(root, name)
                stamp = _stamp(path)
                if stamp is not None and not name.startswith((".", "replaced.")):
                    yield os.path.relpath(path, self.local), stamp


def _stamp(path: str) -> _Stamp | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _is_of_commit(local: str, path: str) -> bool:
    prefix = prefix_of(path)
    return prefix != path and os.path.exists(os.path.join(local, prefix + MANIFEST))


def _inside(folder: str, models: set[str]) -> bool:
    return any(folder == model or folder.startswith(f"{model}/") for model in models)


def _rank(path: str) -> tuple[bool, str]:
    return os.path.basename(path) == _MODEL, path


def _brief(error: Exception) -> str:
    """The reason that an error gives, in one line."""
    failed = getattr(error, "failed", None)
    text = failed[0].reason if failed else str(error)
    return text.partition("\n")[0].rstrip(".")
