"""Copies whole directories, many files at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from moxing.errors import MoxTypeError, MoxValueError
from moxing.framework.file import disk, status
from moxing.framework.file.configuration import settings as settings_module
from moxing.framework.file.configuration import tuning
from moxing.framework.file.copying import transfer, workers
from moxing.framework.file.copying.ledger import ROOT, Job, Ledger
from moxing.framework.file.errors import (
    Failure,
    MoxFileNameDuplicateException,
    MoxFileNotDirectoryException,
    copy_error,
)
from moxing.framework.file.store.entries import tree
from moxing.framework.file.store.serving import store_for
from moxing.framework.file.urls import PathLike, is_remote, named, parse, text

THREADS = 16


@dataclass
class Plan:
    """What copying a tree means.

    Attributes:
      jobs: the files.
      folders: directories to make, relative to the destination.
      failed: what can't be copied whatever the store does.
    """

    jobs: list[Job] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)

    @property
    def total(self) -> int:
        """How many files there are."""
        return len(self.jobs) + len(self.failed)


def copy_parallel(
    src_url: PathLike,
    dst_url: PathLike,
    file_list: Sequence[str] | None = None,
    threads: int = THREADS,
    is_processing: bool = True,
    use_queue: bool = True,
) -> None:
    """Copies what is in a directory into another, which is made where it is not there.

    Files of the same name are replaced, each as a whole; nothing else at the destination is
    touched. `src_url` may also be one file, which is copied to `dst_url`, or into it where that is
    a directory.

    Args:
      src_url, dst_url: local paths or URLs, in any combination.
      file_list: names relative to `src_url`; only these files are copied. By default all are.
      threads: files, and parts of large files, under way at once; 0 copies one after the other in
        the calling thread.
      is_processing: whether processes may be started to share the work. They are where there are
        so many files that a single process would be what limits the speed, and they don't import
        the main module, so it needs no guard.
      use_queue: whether such processes draw from one queue, or get equal shares at the start.

    Raises:
      MoxFileNotExistsException: there is no `src_url`.
      MoxFileNameDuplicateException: a store holds a file and a directory of one name, which a
        local disk can't. Nothing was copied.
      MoxFileCopyException: some files were not copied; its `failed` lists them. All others were.
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 0:
        raise MoxValueError(f"copy_parallel(threads={threads!r}): a number from 0 on is needed")
    if isinstance(file_list, str):
        raise MoxTypeError(
            f"copy_parallel(file_list={file_list!r}): a list of names is needed, not one text"
        )
    src, dst = text(src_url), named(dst_url)
    plan = _plan(src, dst, file_list)
    onto_itself = _same(src, dst)
    if onto_itself or not plan.total:
        ROOT.info("No files to copy.")
    if onto_itself:
        return
    _carry_out(plan, dst, threads, is_processing, use_queue)


def copy_files(pairs: Iterable[tuple[str, str]], threads: int = THREADS) -> None:
    """Copies each file to the path or URL it comes with, all that can be copied.

    For programs that know their files, such as those of a checkpoint. Each file is there whole or
    not at all, so what is written after this returns can stand for the whole set.

    Args:
      pairs: source and destination of each file.
      threads: files, and parts of large files, under way at once.

    Raises:
      MoxFileCopyException: some files were not copied; its `failed` lists them.
    """
    plan = Plan([Job(text(src), text(dst)) for src, dst in pairs])
    ledger = Ledger(plan.total)
    transfer.run(plan.jobs, threads, settings_module.current(), ledger, ledger.tell)
    check(ledger, plan, "their destinations")


def copy_tree(src: str, dst: str, names: Sequence[str] | None = None) -> None:
    """Copies what is in the directory `src` into `dst`, without a line in the log.

    Args:
      src, dst: the directories.
      names: of the files, relative to `src`; None: all that is there.
    """
    plan = plan_tree(src, dst) if names is None else _plan_list(src, dst, names)
    _carry_out(plan, dst, THREADS, True, True, quiet=True)


def is_empty(url: str) -> bool:
    """Whether nothing is in the directory `url`."""
    if is_remote(url):
        where = parse(url)
        return next(iter(store_for(where).list(where, deep=True)), None) is None
    with os.scandir(url) as entries:
        return next(entries, None) is None


def plan_tree(src: str, dst: str) -> Plan:
    """The plan to copy all that is in the directory `src` into `dst`.

    Raises:
      MoxFileNameDuplicateException: the local disk can't hold all names.
    """
    plan = Plan()
    for name, size, tag in (
        _remote_names(src) if is_remote(src) else _local_names(src, "", (disk.identity(src),))
    ):
        if name.endswith("/"):
            # Of one that is left out, the files fail and so are told of.
            if not _leads_out(name.removesuffix("/")):
                plan.folders.append(name)
        else:
            _add(plan, src, dst, name, size, tag)
    if is_remote(src) and not is_remote(dst):
        _check_duplicates(plan, src, dst)
    return plan


def run(plan: Plan, dst: str, threads: int, processes: int, use_queue: bool) -> Ledger:
    """Carries out `plan`. What failed is in the ledger."""
    settings = settings_module.current()
    ledger = Ledger(plan.total)
    ledger.failed.extend(plan.failed)
    _make_folders(plan, dst)
    if processes > 1:
        workers.run(plan.jobs, processes, threads, settings, ledger, use_queue)
    else:
        transfer.run(plan.jobs, threads, settings, ledger, ledger.tell)
    return ledger


def check(ledger: Ledger, plan: Plan, dst: str) -> None:
    """Raises where something of `plan` was not copied.

    Raises:
      MoxFileCopyException: its `failed` lists what was not.
    """
    if ledger.failed:
        raise copy_error(ledger.failed, plan.total, dst)


def _carry_out(
    plan: Plan,
    dst: str,
    threads: int,
    is_processing: bool,
    use_queue: bool,
    quiet: bool = False,
) -> None:
    if not quiet and plan.total:
        ROOT.info("Start to copy %d files.", plan.total)
    most = tuning.current().processes if is_processing else 1
    processes = workers.how_many(len(plan.jobs), threads, most)
    ledger = run(plan, dst, threads, processes, use_queue)
    check(ledger, plan, dst)
    if not quiet and plan.total:
        ROOT.info("Finish copy.")


def _plan(src: str, dst: str, file_list: Sequence[str] | None) -> Plan:
    if is_remote(src):
        ROOT.info("Listing OBS")
        found = status.find(parse(src))
        directory = found.is_directory if found else None
    else:
        directory = os.path.isdir(src) if os.path.exists(src) else None
    if directory is None:
        raise status.missing(src)
    if not directory:
        return _plan_file(src, dst, file_list)
    if not is_remote(dst) and os.path.isfile(dst):
        raise MoxFileNotDirectoryException(
            f"{src} is a directory and can't be copied to the file {dst}", url=dst
        )
    if file_list is not None:
        return _plan_list(src, dst, file_list)
    return plan_tree(src, dst)


def _same(src: str, dst: str) -> bool:
    """Whether all is where it shall be. A store refuses to copy an object onto itself."""
    if is_remote(src) and is_remote(dst):
        a, b = parse(src), parse(dst)
        return (a.bucket, a.prefix) == (b.bucket, b.prefix)
    if is_remote(src) or is_remote(dst):
        return False
    return os.path.exists(dst) and os.path.samefile(src, dst)


def _plan_file(src: str, dst: str, file_list: Iterable[str] | None) -> Plan:
    if file_list is not None:
        raise MoxFileNotDirectoryException(
            f"{src} is a file, so there is nothing in it for file_list to name", url=src
        )
    into = dst.endswith("/") or status.is_directory(dst)
    name = src.rstrip("/").rpartition("/")[2]
    return Plan([Job(src, _join(dst, name) if into else dst)])


def _plan_list(src: str, dst: str, file_list: Iterable[str]) -> Plan:
    plan = Plan()
    for item in file_list:
        name = text(item)
        # Names may come from a listing of whole URLs.
        if name.startswith(f"{src.rstrip('/')}/"):
            name = name[len(src.rstrip("/")) + 1 :]
        _add(plan, src, dst, name)
    return plan


def _add(plan: Plan, src: str, dst: str, name: str, size: int = -1, tag: str = "") -> None:
    job = Job(_join(src, name), _join(dst, name), size, tag)
    if _leads_out(name):
        reason = "its name can't be used below another directory"
        plan.failed.append(Failure(job.src, job.dst, reason))
    else:
        plan.jobs.append(job)


def _leads_out(name: str) -> bool:
    """Whether `name` may lead out of the destination: a store takes any, with ".." in it, too."""
    return any(part in ("", ".", "..") for part in name.split("/"))


def _remote_names(src: str) -> Iterator[tuple[str, int, str]]:
    where = parse(src)
    start = len(where.prefix)
    for info in tree(store_for(where), where):
        yield info.key[start:], info.size, info.etag


def _local_names(
    path: str, start: str, around: tuple[tuple[int, int], ...]
) -> Iterator[tuple[str, int, str]]:
    with os.scandir(path) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if not disk.is_directory(entry):
            yield start + entry.name, *_facts(entry)
            continue
        me = disk.identity(entry)
        # A link to a directory around it would never end.
        if me not in around:
            yield f"{start}{entry.name}/", 0, ""
            yield from _local_names(entry.path, f"{start}{entry.name}/", (*around, me))


def _facts(entry: os.DirEntry[str]) -> tuple[int, str]:
    try:
        found = entry.stat()
    except OSError:
        # A link to nothing or to itself: the copy will say so.
        return -1, ""
    return found.st_size, str(found.st_mtime_ns)


def _check_duplicates(plan: Plan, src: str, dst: str) -> None:
    folders = {name.rstrip("/") for name in plan.folders}
    start = len(dst.rstrip("/")) + 1
    for job in plan.jobs:
        if job.dst[start:] in folders:
            raise MoxFileNameDuplicateException(
                f"{src} holds both a file and a directory {job.dst[start:]!r}, which the local "
                f"directory {dst} can't; nothing was copied",
                url=job.src,
            )


def _make_folders(plan: Plan, dst: str) -> None:
    """Makes the directories that no file will make: empty ones, and the destination itself."""
    if not is_remote(dst):
        if plan.folders or not any(job.dst == dst for job in plan.jobs):
            os.makedirs(dst, exist_ok=True)
        for name in plan.folders:
            os.makedirs(os.path.join(dst, name), exist_ok=True)
        return
    made = {parent for job in plan.jobs for parent in _parents(job.dst)}
    wanted = [_join(dst, name) for name in plan.folders]
    if not plan.total and not parse(dst).names_directory:
        wanted.append(f"{dst}/")
    for url in wanted:
        if url.rstrip("/") not in made:
            store_for(parse(url)).put(parse(url), b"")


def _parents(url: str) -> Iterator[str]:
    while (url := url.rpartition("/")[0]) and not url.endswith("/"):
        yield url


def _join(base: str, name: str) -> str:
    return f"{base.rstrip('/')}/{name}"
