"""Copies a folder into a store so that an incomplete copy is never taken for a complete one.

A disk can rename a folder atomically, but a store has no folders. So during the copy, a marker
object beside the files lists their names. Readers of data refuse a folder with a marker. If a
process was killed, the next process that writes the same files removes the incomplete copy.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from glob import escape, glob

from moxing.errors import MoxRuntimeError, MoxValueError
from moxing.framework.file import changes, content, status
from moxing.framework.file.copying import trees
from moxing.framework.file.store.serving import store_for
from moxing.framework.file.urls import is_remote, parse

MARK = ".mox-unfinished-"


def put(local: str, url: str, last: str | None = None) -> None:
    """Copies the content of a local folder to the directory `url`, and replaces existing files.

    Args:
      local: the folder.
      url: a directory in a store, which need not exist.
      last: the path, relative to `local`, of the file that is copied after all others.

    Raises:
      OSError: the store fails. The copied files are removed as far as the store allows.
      MoxRuntimeError: another process writes the same files at the same time.
    """
    url, local = url.rstrip("/"), local.rstrip("/")
    names = [job.src[len(local) + 1 :] for job in trees.plan_tree(local, url).jobs]
    with writing(url, names) as confirm:
        trees.copy_tree(local, url, [name for name in names if name != last])
        confirm()
        if last is not None:
            trees.copy_files([(f"{local}/{last}", f"{url}/{last}")])


@contextmanager
def writing(url: str, names: Sequence[str]) -> Iterator[Callable[[], None]]:
    """Marks a directory as incomplete while the block writes to it.

    Args:
      url: the directory.
      names: the names of the files that the block writes, relative to the directory.

    Raises:
      OSError: the store fails. After this or any error in the block, the written files are
        removed as far as the store allows.
      MoxRuntimeError: another process writes the same files at the same time. The function that
        the block gets raises this error, too.
    """
    clear(url, names)
    mark = f"{url}/{MARK}{secrets.token_hex(8)}"
    content.write(mark, json.dumps(names))

    def confirm() -> None:
        if not status.exists(mark):
            raise _Taken(f"another process writes to {url} at the same time: end one of them.")

    try:
        yield confirm
        confirm()
        changes.remove_files([mark])
    except _Taken:
        raise  # The files belong to the other process.
    except BaseException:
        with suppress(OSError):
            _undo(url, mark, names)
        raise


def clear(url: str, names: Iterable[str] | None = None) -> None:
    """Removes the incomplete files that killed processes left in the directory `url`.

    Args:
      url: a directory in a store, which need not exist.
      names: only incomplete files of writes of any of these files are removed; None: all.

    Raises:
      OSError: the store fails.
    """
    url = url.rstrip("/")
    wanted = None if names is None else set(names)
    for mark in _marks(url):
        with suppress(FileNotFoundError, ValueError):
            found = json.loads(content.read(f"{url}/{mark}"))
            if wanted is None or not wanted.isdisjoint(found):
                _undo(url, f"{url}/{mark}", found)


def refuse_part(folder: str, names: Collection[str] | None = None) -> None:
    """Raises an error if a folder is incomplete.

    Args:
      folder: a folder, local or in a store.
      names: the names of its entries, if they are known; None: list them.

    Raises:
      MoxValueError: the folder has a marker.
    """
    marks = _marks(folder) if names is None else [n for n in names if n.startswith(MARK)]
    if marks:
        raise MoxValueError(
            f"{folder} is not complete: it is being written, or the process that wrote it was"
            f" killed. Write it again, or delete {folder.rstrip('/')}/{marks[0]} if all its files"
            " are there."
        )


class _Taken(MoxRuntimeError):
    """Another process has removed the marker."""


def _undo(url: str, mark: str, names: Iterable[str]) -> None:
    changes.remove_files([f"{url}/{name}" for name in names])
    changes.remove_files([mark])


def _marks(folder: str) -> list[str]:
    if not is_remote(folder):
        return [os.path.basename(p) for p in glob(os.path.join(escape(folder), f"{MARK}*"))]
    where = parse(f"{folder}/")
    with suppress(FileNotFoundError):  # The bucket may not exist yet.
        found = store_for(where).list(where, deep=False, start=MARK)
        return [info.key[len(where.prefix) :] for info in found]
    return []
