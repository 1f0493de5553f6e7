"""Runs a job in a local directory if its `log_dir` is in an object store or is to be cached."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from moxing.engine.checkpoint.directory import ensure_directory
from moxing.engine.checkpoint.lock import lock
from moxing.engine.checkpoint.names import BEST, MANIFEST
from moxing.engine.job.job import Job, Result
from moxing.engine.process.stopping import stop_on_signals
from moxing.engine.remote import evaluation_records
from moxing.engine.remote.contents import listing
from moxing.engine.remote.fetch import Fetched, fetch, fetch_path
from moxing.engine.remote.lease import Lease
from moxing.engine.remote.mirror import Mirror
from moxing.engine.remote.path_alias import standing, tidy
from moxing.engine.remote.scratch import room as open_room
from moxing.engine.remote.uploader import Uploader
from moxing.engine.wording.record_files import LOCK
from moxing.errors import MoxRuntimeError
from moxing.framework import file
from moxing.framework.file.configuration import settings, tuning
from moxing.logs import TENSORFLOW

# A context manager: while its block runs, the process does not exit before the work is done.
Last = Callable[[Callable[[], None]], AbstractContextManager[None]]


def run_at_home(job: Job, run: Callable[[Job], Result], last: Last | None = None) -> Result:
    """Returns the result of `run(job)`; the job's directories may be in an object store.

    If `log_dir` or `checkpoint_path` is a URL, or `log_dir` is to be cached, the run gets local
    directories instead. They start with the newest complete checkpoint, and are uploaded in the
    background while the run works. The run's messages and result name the user's directories.

    Args:
        job: what to run.
        run: the function that runs a job.
        last: delays an exit of the process, by another thread while `run` runs, until the upload is
            done.

    Raises:
        MoxRuntimeError: no store is configured, another run trains in `log_dir`, or not everything
            could be uploaded at the end. Then the local directory stays, and the message names it.
        CheckpointError: there is no checkpoint at `checkpoint_path`.
        OSError: the store can't be read.
    """
    paths = (job.log_dir, job.restoring.checkpoint_path)
    away = [path for path in paths if path and file.is_remote(path)]
    for path in away:
        settings.needs_endpoint(settings.current(), path)
    if not away and not (job.saving.cached and job.log_dir):
        return run(job)
    with open_room(tuning.staging_dir()) as room, ExitStack() as stack:
        here, names, whole = job, {}, True
        if job.log_dir and (job.saving.cached or file.is_remote(job.log_dir)):
            local = os.path.join(room, "log_dir")
            names[tidy(job.log_dir)] = local
            fetched = stack.enter_context(_log_dir(job, tidy(job.log_dir), local, last))
            here = dataclasses.replace(here, log_dir=local)
            whole = fetched[""].found is None
            if not whole and tidy(job.restoring.checkpoint_path or "") == tidy(job.log_dir):
                here = here.starting_from(local)
        source = here.restoring.checkpoint_path
        if source and file.is_remote(source):
            here = _with_checkpoint(here, tidy(source), room, stack, names, whole)
        return _renamed(run(here), names)


@contextmanager
def _log_dir(job: Job, name: str, local: str, last: Last | None) -> Iterator[dict[str, Fetched]]:
    """In the block, the local directory `local` stands for the directory `name`."""
    os.mkdir(local)
    with ExitStack() as stack:
        confirm = _take(job, name, local, stack)
        before = None if job.training else evaluation_records.stamp(name)
        fetched = _fetch_all(name, local, job.training)
        uploader = Uploader(Mirror(local, name, fetched, confirm))
        stack.enter_context(standing(name, local))
        uploader.start()

        def leave() -> None:
            with stack:
                _finish(uploader, local)

        try:
            with last(leave) if last is not None else nullcontext():
                yield fetched
        finally:
            if not job.training:
                evaluation_records.withdraw(name, local, before)
            _finish(uploader, local)


def _take(job: Job, name: str, local: str, stack: ExitStack) -> Callable[[], bool]:
    """Makes sure that no other run trains there; returns a function that checks this again."""
    if not job.training:
        return lambda: True
    if not file.is_remote(name):
        ensure_directory(name)
        held = stack.enter_context(lock(name))

        def confirm() -> bool:
            held.check()
            return True

        return confirm

    def lost() -> None:
        # Without the lock file, the next save raises an error, which ends the run.
        if os.path.exists(os.path.join(local, LOCK)):
            os.remove(os.path.join(local, LOCK))

    lease = Lease(name, lost)
    lease.take()
    stack.callback(lease.release)
    return lease.confirm


def _fetch_all(name: str, local: str, training: bool) -> dict[str, Fetched]:
    """Fetches the newest checkpoint of the directory and of each one inside; makes folders.

    A training gets all of its best checkpoints, of which each has a value to beat.
    """
    fetched = {"": fetch(name, local)}
    for folder in fetched[""].folders:
        inside = os.path.join(local, folder)
        os.makedirs(inside, exist_ok=True)  # So that no export takes this name.
        if folder.isdigit() or folder.startswith("."):
            continue
        if any(entry.endswith(MANIFEST) for entry in listing(f"{name}/{folder}")):
            fetched[folder] = fetch(f"{name}/{folder}", inside, training and folder == BEST)
    return fetched


def _finish(uploader: Uploader, local: str) -> None:
    """Waits for the upload, also after a first signal; keeps the files that can't be uploaded."""
    failing = sys.exc_info()[1]
    try:
        with stop_on_signals() as stop:
            uploader.finish()
    except MoxRuntimeError as error:
        kept = tempfile.mkdtemp(prefix="moxing-kept-", dir=tuning.staging_dir())
        shutil.copytree(local, kept, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
        message = (
            f"{error} What the run made is kept in {kept}: copy it with mox.file.copy_parallel when"
            " the store can be written again."
        )
        if failing is None:
            raise MoxRuntimeError(message) from None
        TENSORFLOW.error("%s", message)
        return
    if stop and failing is None:
        raise SystemExit(stop.exit_code)


def _with_checkpoint(
    job: Job, name: str, room: str, stack: ExitStack, names: dict[str, str], whole: bool
) -> Job:
    """Returns the job with a local copy of `checkpoint_path`.

    Args:
        job: what to run.
        name: the job's `checkpoint_path`.
        room: the directory in which to make the copy.
        stack: is closed at the end of the run.
        names: the local directories by the user's names; the copy is added.
        whole: whether to copy all files; else only those that tell the checkpoint's name.
    """
    local = os.path.join(room, "checkpoint_path")
    os.mkdir(local)
    base = name if file.is_directory(name) else name.rpartition("/")[0]
    stack.enter_context(standing(base, local))
    names.setdefault(base, local)
    return job.starting_from(fetch_path(name, local, whole=whole))


def _renamed(result: Result, names: dict[str, str]) -> Result:
    """Returns the result with the user's names of directories."""

    def named(path: str | None) -> str | None:
        for name, local in names.items():
            if path is not None and path.startswith(local):
                return name + path[len(local) :]
        return path

    return dataclasses.replace(
        result, checkpoint=named(result.checkpoint), export_dir=named(result.export_dir)
    )
