"""Puts a folder of files into a store so that a part of it is never taken for the whole.

A disk renames a folder in one go; a store has no folders. So while files are copied, an object
beside them says so, and names them. Readers of data refuse a folder that holds one. Where a process
was killed, the next one that writes the same files removes what the first one left.
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
    """Copies all that is in a local folder into the directory `url`; files of a name are replaced.

    Args:
      local: the folder.
      url: a directory of a store, which need not be there.
      last: path within `local` of the file that is copied when all others are there.

    Raises:
      OSError: the store fails. What was copied is removed again, as far as the store lets it.
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
    """Marks a directory as not whole while the block writes into it.

    Args:
      url: the directory.
      names: of the files that the block writes, relative to it.

    Raises:
      OSError: the store fails. What was written is removed again, as far as the store lets it; so
        it is where the block raises.
      MoxRuntimeError: another process writes the same files at the same time. The function that the
        block gets raises it too.
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
        raise  # What is there is the other's.
    except BaseException:
        with suppress(OSError):
            _undo(url, mark, names)
        raise


def clear(url: str, names: Iterable[str] | None = None) -> None:
    """Removes what a process left in the directory `url` that was killed while it wrote there.

    Args:
      url: a directory of a store; it need not be there.
      names: only what was left of a write of any of these files; None: all.

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
    """Raises where a folder is not whole.

    Args:
      folder: local or in a store.
      names: what it holds, where that is known.

    Raises:
      MoxValueError: it is not.
    """
    marks = _marks(folder) if names is None else [n for n in names if n.startswith(MARK)]
    if marks:
        raise MoxValueError(
            f"{folder} is not whole: it is being written, or what wrote it was cut short. Write it"
            f" again, or delete {folder.rstrip('/')}/{marks[0]} if all is there."
        )


class _Taken(MoxRuntimeError):
    """Another process has removed the mark."""


def _undo(url: str, mark: str, names: Iterable[str]) -> None:
    changes.remove_files([f"{url}/{name}" for name in names])
    changes.remove_files([mark])


def _marks(folder: str) -> list[str]:
    if not is_remote(folder):
        return [os.path.basename(p) for p in glob(os.path.join(escape(folder), f"{MARK}*"))]
    where = parse(f"{folder}/")
    with suppress(FileNotFoundError):  # There may be no such bucket yet.
        found = store_for(where).list(where, deep=False, start=MARK)
        return [info.key[len(where.prefix) :] for info in found]
    return []
