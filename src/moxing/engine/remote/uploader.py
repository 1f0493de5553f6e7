"""Uploads a directory in the background while a run works in it, and waits for the last files."""

from __future__ import annotations

import threading
import time

from moxing.engine.remote.mirror import Mirror, Waiting
from moxing.errors import MoxRuntimeError
from moxing.framework import backoff
from moxing.logs import TENSORFLOW

LIMIT_SECONDS = 600.0  # Limit of the wait at the end of a run while nothing can be uploaded.
_ROUND_SECONDS = 1.0
_LONGEST_PAUSE = 15.0
_TELL_SECONDS = 60.0
_PROGRESS_SECONDS = 5.0


class Uploader:
    """A thread around a `Mirror`.

    Args:
        mirror: finds and uploads files.
        limit: seconds without progress after which `finish` gives up.
    """

    def __init__(self, mirror: Mirror, limit: float = LIMIT_SECONDS) -> None:
        self._mirror, self._limit = mirror, limit
        self._last = threading.Event()
        self._over = threading.Event()
        self._waiting = Waiting(files=1)
        self._moved = time.monotonic()
        self._told: float | None = None
        self._give_up = False
        self._thread = threading.Thread(target=self._serve, name="mox-upload", daemon=True)

    def start(self) -> None:
        """Starts the uploads."""
        self._thread.start()

    def finish(self) -> None:
        """Uploads all remaining files, and returns once they are uploaded.

        Raises:
            MoxRuntimeError: nothing could be uploaded for as long as the limit.
        """
        self._last.set()
        began = told = time.monotonic()
        while not self._over.wait(0.05 if time.monotonic() - began < 1.0 else 0.5):
            now = time.monotonic()
            if now - told >= _PROGRESS_SECONDS:
                told = now
                TENSORFLOW.info("%s", self._progress())
            if now - max(self._moved, began) >= self._limit:
                self._give_up = True
                raise MoxRuntimeError(self._failure())
        if time.monotonic() - began >= _PROGRESS_SECONDS:
            TENSORFLOW.info("The whole run is in %s.", self._mirror.remote)

    def _serve(self) -> None:
        failures = 0
        while not self._give_up:
            final = self._last.is_set()
            before = self._waiting
            self._waiting = self._round(final)
            if self._waiting.files == 0 or self._waiting.files < before.files:
                self._moved = time.monotonic()
            if final and not self._waiting.files:
                self._over.set()
                return
            failures = failures + 1 if self._waiting.files else 0
            self._tell(failures)
            pause = backoff.pause(failures + 1, _ROUND_SECONDS, _LONGEST_PAUSE, spread=0)
            if final:
                time.sleep(min(pause, 2.0))
            else:
                self._last.wait(pause)

    def _round(self, final: bool) -> Waiting:
        try:
            return self._mirror.round(final)
        except Exception as error:  # noqa: BLE001 (the next round tries again)
            return Waiting(max(1, self._waiting.files), 0, str(error).partition("\n")[0])

    def _tell(self, failures: int) -> None:
        now = time.monotonic()
        if failures and (self._told is None or now - self._told >= _TELL_SECONDS):
            self._told = now
            TENSORFLOW.warning(
                "%s can't be written now (%s). %s on the local disk until it can; the run goes on.",
                self._mirror.remote,
                self._waiting.reason,
                _amount(self._waiting, "waits", "wait"),
            )
        elif not failures and self._told is not None:
            self._told = None
            TENSORFLOW.info("%s can be written again; nothing waits.", self._mirror.remote)

    def _progress(self) -> str:
        waiting = self._waiting
        what = _amount(waiting, "remains", "remain") if waiting.reason else "The rest is under way"
        why = f" ({waiting.reason})" if waiting.reason else ""
        return (
            f"Waiting for the upload to {self._mirror.remote}: {what}{why}. The run ends when it is"
            f" there, or when nothing has been uploaded for {self._limit:g} s."
        )

    def _failure(self) -> str:
        waiting = self._waiting
        return (
            f"{_amount(waiting, 'was', 'were')} not uploaded to {self._mirror.remote}: no upload"
            f" has succeeded for {self._limit:g} s ({waiting.reason or 'the store is too slow'})."
        )


def _amount(waiting: Waiting, one: str, many: str) -> str:
    size = f" ({waiting.bytes / 1e6:,.1f} MB)" if waiting.bytes else ""
    files = (
        "1 file or checkpoint" if waiting.files == 1 else f"{waiting.files} files or checkpoints"
    )
    return f"{files}{size} {one if waiting.files == 1 else many}"
