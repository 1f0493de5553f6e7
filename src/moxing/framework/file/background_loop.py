"""An event loop in a thread of its own, which works until the very end of the program."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from moxing.errors import MoxRuntimeError

T = TypeVar("T")


class BackgroundLoop:
    """Runs coroutines for callers that are not coroutines."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_default_executor(_Lasting(max_workers=1))
        self._thread = threading.Thread(target=self.loop.run_forever, name="mox-io", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            raise MoxRuntimeError(
                "the program is ending, and an object store can't be reached for the first time "
                "then; use mox.file once before, or do it before the end of the main module"
            ) from None

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begins `work` and returns at once."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def wait(self, work: Coroutine[Any, Any, T], limit: float) -> T:
        """The result of `work`.

        Raises:
          TimeoutError: it did not end within `limit` seconds.
        """
        future = self.start(asyncio.wait_for(work, limit))
        try:
            # The loop itself gives up after `limit`; this is for a loop that does not run.
            return future.result(limit + 10.0)
        finally:
            future.cancel()


class _Lasting(ThreadPoolExecutor):
    """An executor that still takes work when the interpreter is on its way out.

    Python's own refuses it from the moment the main thread has ended. Functions registered with
    `atexit` run later than that, and uploading a last file is a common one.
    """

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()

        def go() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 (it is handed on)
                future.set_exception(error)

        try:
            threading.Thread(target=go, name="mox-io-helper", daemon=True).start()
        except RuntimeError:
            # Later Pythons start no thread at that time. The loop then waits for it.
            go()
        return future
