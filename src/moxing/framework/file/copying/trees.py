"""Copies whole directories, many files at once."""

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
    """The plan of the copy of a tree.

    Attributes:
      jobs: the files to copy.
      folders: the directories to create, relative to the destination.
      failed: the files that can't be copied in any case.
    """

    jobs: list[Job] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)

    @property
    def total(self) -> int:
        """The number of files."""
        return len(self.jobs) + len(self.failed)


def copy_parallel(
    src_url: PathLike,
    dst_url: PathLike,
    file_list: Sequence[str] | None = None,
    threads: int = THREADS,
    is_processing: bool = True,
    use_queue: bool = True,
) -> None:
    """Copies the content of a directory to another one, which is created if it does not exist.

    Existing files are replaced, each as a whole; nothing else at the destination changes. `src_url`
    may also be a file, which is copied to `dst_url`, or into `dst_url` if that is a directory.

    Args:
      src_url, dst_url: local paths or URLs, in any combination.
      file_list: the names, relative to `src_url`, of the files to copy; None: all.
      threads: the number of files, and parts of large files, copied at once; 0: one after the other
        in the calling thread.
      is_processing: whether to start processes if there are so many files that a single process
        would limit the speed. The processes don't import the main module, so it needs no guard.
      use_queue: whether these processes take files from one queue; else they get equal shares at
        the start.

    Raises:
      MoxFileNotExistsException: there is no `src_url`.
      MoxFileNameDuplicateException: the store has a file and a directory of the same name, which a
        local disk can't have. Nothing was copied.
      MoxFileCopyException: some files were not copied; its `failed` lists them. All other files
        were copied.
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
    """Copies each file to its own destination; a failed file does not stop the others.

    For programs that know their files, such as the files of a checkpoint. Each destination is
    complete or unchanged, so a file written after this call can confirm the whole set.

    Args:
      pairs: the source and the destination of each file, paths or URLs.
      threads: the number of files, and parts of large files, copied at once.

    Raises:
      MoxFileCopyException: some files were not copied; its `failed` lists them.
    """
    plan = Plan([Job(text(src), text(dst)) for src, dst in pairs])
    ledger = Ledger(plan.total)
    transfer.run(plan.jobs, threads, settings_module.current(), ledger, ledger.tell)
    check(ledger, plan, "their destinations")


def copy_tree(src: str, dst: str, names: Sequence[str] | None = None) -> None:
    """Copies the content of the directory `src` to `dst` without log lines.

    Args:
      src, dst: the directories.
      names: the names of the files, relative to `src`; None: all.
    """
    plan = plan_tree(src, dst) if names is None else _plan_list(src, dst, names)
    _carry_out(plan, dst, THREADS, True, True, quiet=True)


def is_empty(url: str) -> bool:
    """Whether the directory `url` is empty."""
    if is_remote(url):
        where = parse(url)
        return next(iter(store_for(where).list(where, deep=True)), None) is None
    with os.scandir(url) as entries:
        return next(entries, None) is None


def plan_tree(src: str, dst: str) -> Plan:
    """Returns the plan to copy the whole content of the directory `src` to `dst`.

    Raises:
      MoxFileNameDuplicateException: the local disk can't have all the names.
    """
    plan = Plan()
    for name, size, tag in (
        _remote_names(src) if is_remote(src) else _local_names(src, "", (disk.identity(src),))
    ):
        if name.endswith("/"):
            # The files of a directory that is left out here fail and are reported.
            if not _leads_out(name.removesuffix("/")):
                plan.folders.append(name)
        else:
            _add(plan, src, dst, name, size, tag)
    if is_remote(src) and not is_remote(dst):
        _check_duplicates(plan, src, dst)
    return plan


def run(plan: Plan, dst: str, threads: int, processes: int, use_queue: bool) -> Ledger:
    """Carries out `plan`; the returned ledger has the failed files."""
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
    """Raises an error if any file of `plan` was not copied.

    Raises:
      MoxFileCopyException: some files were not copied; its `failed` lists them.
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
    """Whether source and destination are the same; stores refuse to copy an object onto itself."""
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
        # The names may be whole URLs from a listing.
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
    """Whether `name` may lead out of the destination, because a store allows ".." in names."""
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
        # Following a link to a parent directory would never end.
        if me not in around:
            yield f"{start}{entry.name}/", 0, ""
            yield from _local_names(entry.path, f"{start}{entry.name}/", (*around, me))


def _facts(entry: os.DirEntry[str]) -> tuple[int, str]:
    try:
        found = entry.stat()
    except OSError:
        # The copy reports a link to a missing file or to itself.
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
    """Creates empty directories and the destination, which no copied file creates."""
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
