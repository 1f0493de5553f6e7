"""Divides a copy of very many files among processes.

A worker is a new interpreter that imports only this package: it does not run the main module again,
so scripts need no `if __name__ == "__main__"`, and it inherits nothing through a fork. Jobs and
results are lines of JSON on its standard input and output.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from typing import IO, Any

import moxing
from moxing.framework.file.configuration.settings import Settings
from moxing.framework.file.copying import transfer
from moxing.framework.file.copying.ledger import ROOT, Job, Ledger, is_hopeless

# A process needs about half a second to start, in which another one copies some hundred files.
FILES_PER_PROCESS = 2000
SHARE = 200
# The maximum seconds for a worker to end when it is told to.
PATIENCE = 5.0
_MAIN = (
    "import sys; sys.path.insert(0, {root!r}); "
    "from moxing.framework.file.copying import workers; workers.serve(sys.stdin, sys.stdout)"
)


def how_many(files: int, threads: int, most: int) -> int:
    """Returns the useful number of processes: at most `most`, and one per 2,000 files."""
    return max(1, min(most, threads, files // FILES_PER_PROCESS))


def run(
    jobs: Sequence[Job],
    processes: int,
    threads: int,
    settings: Settings,
    ledger: Ledger,
    use_queue: bool = True,
) -> None:
    """Copies `jobs` with `processes` processes, which share `threads` threads.

    This process copies the files that a worker leaves uncopied when it dies.

    Args:
      jobs: the files to copy.
      processes: the number of processes to start, at least 1.
      threads: the number of files copied at once in all processes together.
      settings: the settings of the store.
      ledger: records the result of every file.
      use_queue: whether processes take files from one queue; else they get equal shares.
    """
    queue = _Queue(jobs, SHARE if use_queue else -(-len(jobs) // processes))
    crew = _start(processes, settings, max(1, threads // processes))
    helpers = [
        threading.Thread(target=worker.drive, args=(queue, ledger), daemon=True) for worker in crew
    ]
    try:
        for helper in helpers:
            helper.start()
        while any(helper.is_alive() for helper in helpers):
            for helper in helpers:
                helper.join(1.0 / processes)
            ledger.tell()
    finally:
        _end(crew)
    left = queue.left()
    if left:
        if not ledger.hopeless:
            ROOT.warning("Copying processes ended early; copying %d files here", len(left))
        transfer.run(left, threads, settings, ledger, ledger.tell)


def serve(source: IO[str], sink: IO[str]) -> None:
    """The main program of a worker: copies the jobs that it reads until its input ends."""
    from moxing import logs

    logs.reset_logger()
    hello = json.loads(source.readline())
    limits = tuple(tuple(item) for item in hello["settings"].pop("limits"))
    settings = Settings(**hello["settings"], limits=limits)
    lock = threading.Lock()
    while line := source.readline():
        jobs = [Job(*item) for item in json.loads(line)]
        transfer.run(jobs, hello["threads"], settings, _Telling(len(jobs), sink, lock))
        with lock:
            _send(sink, None)


class _Telling(Ledger):
    """A ledger that sends its records through the pipe to the parent process."""

    def __init__(self, total: int, sink: IO[str], lock: threading.Lock) -> None:
        super().__init__(total)
        self._sink = sink
        self._sending = lock

    def done(self, job: Job, size: int) -> None:
        self._tell({"number": job.number, "size": size})

    def fail(self, job: Job, error: Exception) -> None:
        self.note(job, str(error), is_hopeless(error))

    def note(self, job: Job, reason: str, hopeless: bool) -> None:
        self.hopeless = self.hopeless or hopeless
        self._tell({"number": job.number, "failed": reason, "hopeless": hopeless})

    def _tell(self, message: dict[str, Any]) -> None:
        with self._sending:
            _send(self._sink, message)


class _Queue:
    """Gives out jobs in shares, and keeps track of the jobs without a result."""

    def __init__(self, jobs: Sequence[Job], share: int) -> None:
        self._jobs = [dataclasses.replace(job, number=n) for n, job in enumerate(jobs)]
        self._waiting = deque(range(0, len(jobs), share))
        self._share = share
        self._open = set(range(len(jobs)))
        self._lock = threading.Lock()

    def take(self) -> list[Job]:
        with self._lock:
            if not self._waiting:
                return []
            start = self._waiting.popleft()
        return self._jobs[start : start + self._share]

    def close(self, number: int) -> Job:
        with self._lock:
            self._open.discard(number)
        return self._jobs[number]

    def left(self) -> list[Job]:
        with self._lock:
            return [self._jobs[number] for number in sorted(self._open)]


class _Worker:
    """The parent's connection to one worker process."""

    def __init__(self, settings: Settings, threads: int) -> None:
        self._hello = {"settings": dataclasses.asdict(settings), "threads": threads}
        # The folder from which the package can be imported.
        root = os.path.dirname(os.path.dirname(os.path.abspath(moxing.__file__)))
        self.process = subprocess.Popen(
            # -P keeps modules in the working directory from shadowing library modules.
            [sys.executable, "-P", "-c", _MAIN.format(root=root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            # Only the parent gets Ctrl-C, and then ends its workers.
            start_new_session=True,
        )

    def drive(self, queue: _Queue, ledger: Ledger) -> None:
        """Sends jobs to the process until the queue is empty or the process has ended."""
        source, sink = self.process.stdout, self.process.stdin
        assert source is not None
        assert sink is not None
        with contextlib.suppress(OSError, ValueError):
            # Send the keys through the pipe, so that no process list shows them.
            _send(sink, self._hello)
            while not ledger.hopeless and (share := queue.take()):
                _send(sink, [dataclasses.astuple(job) for job in share])
                for answer in _answers(source):
                    _note(answer, queue, ledger)


def _start(processes: int, settings: Settings, threads: int) -> list[_Worker]:
    crew: list[_Worker] = []
    try:
        for _ in range(processes):
            crew.append(_Worker(settings, threads))
    except OSError as error:
        ROOT.warning("No more than %d copying processes could be started: %s", len(crew), error)
    return crew


def _end(crew: Sequence[_Worker]) -> None:
    for worker in crew:
        with contextlib.suppress(OSError):
            if worker.process.stdin is not None:
                worker.process.stdin.close()
    for worker in crew:
        try:
            worker.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()
        if worker.process.stdout is not None:
            worker.process.stdout.close()


def _answers(source: IO[str]) -> Iterator[dict[str, Any]]:
    while line := source.readline():
        answer = json.loads(line)
        if answer is None:
            return
        yield answer
    raise OSError("the process is gone")


def _note(answer: dict[str, Any], queue: _Queue, ledger: Ledger) -> None:
    job = queue.close(answer["number"])
    if "failed" in answer:
        ledger.note(job, answer["failed"], answer["hopeless"])
    else:
        ledger.done(job, answer["size"])


def _send(sink: IO[str], message: object) -> None:
    sink.write(json.dumps(message) + "\n")
    sink.flush()
