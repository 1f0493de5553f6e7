"""Runs the Python programs that the program starts with the same modules as the program.

A program that calls `subprocess.run([sys.executable, "evaluate.py"])`, or starts `python`, expects
its own interpreter and its own TensorFlow. So the new process runs `mox run evaluate.py`. Where the
program gives the command as a list of words, the list is changed. Where a shell starts the process,
as for `os.system("python evaluate.py")`, the new interpreter starts again: openmox.pth finds a
variable in its environment and has `take_over` called.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any

from moxing.errors import MoxValueError
from moxing.legacy import libraries
from moxing.legacy.face import owned
from moxing.legacy.plain import texts
from moxing.legacy.program import complaints, modules
from moxing.legacy.python2 import port

# Set for the processes that the program starts; openmox.pth looks for it in each interpreter.
CHILDREN = "MOX_RUN_CHILDREN"
_LIBRARIES = ("tensorflow", "keras", "moxing", "oneflow")
# Modules that load code, whose libraries the text of a file does not name.
_LOADERS = ("cloudpickle", "dill", "imp", "importlib", "pickle", "runpy")
_ALONE = frozenset("bBdEOqsSuv")
_WITH_VALUE = ("-W", "-X")


def install(owns: Callable[[str], bool], named: Collection[str] = ()) -> None:
    """Makes later processes of the user's Python files run under `mox run`.

    Args:
        owns: whether a file is the user's.
        named: installed packages that also see the v1 face.
    """
    popen: Any = subprocess.Popen
    start = popen.__init__
    if hasattr(start, "mox_before"):
        start = start.mox_before
    said: set[str] = set()

    def __init__(self: Any, args: Any, *rest: Any, **options: Any) -> None:
        plain = not options.get("shell") and options.get("executable") is None and len(rest) < 2
        if plain and isinstance(args, list | tuple):
            changed = command(args, owns, named, options.get("cwd"))
            if changed is not None:
                args, what = changed
                if what not in said:
                    said.add(what)
                    complaints.say(f"the program starts {what}: it runs as `mox run` does.")
        start(self, args, *rest, **options)

    __init__.mox_before = start  # type: ignore[attr-defined]
    popen.__init__ = __init__
    _tell_shells(named)


def _tell_shells(named: Collection[str]) -> None:
    """Sets the variables by which interpreters that shells start find what they should run as."""
    os.environ[CHILDREN] = ",".join([_identity(sys.__stderr__), *named])
    found = shutil.which("python")
    here = os.path.dirname(sys.executable)
    in_venv = sys.prefix != sys.base_prefix
    if in_venv and (found is None or os.path.dirname(found) != here):
        # The program expects `python` to be the interpreter that runs it.
        os.environ["PATH"] = os.pathsep.join([here, os.environ.get("PATH", os.defpath)])


def _identity(stream: Any) -> str:
    """Names the file or terminal behind a stream; an empty text for a stream without any."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError, AttributeError):
        return ""
    return f"{found.st_dev}:{found.st_ino}"


def take_over(words: Sequence[str]) -> None:
    """Starts this process again under `mox run` if it runs a Python file of the user's.

    A line says so where standard error is that of the program which started this process: where it
    reads the output instead, a line of ours might be taken for a part of it.

    Args:
        words: the command line of this interpreter.
    """
    told, *named = os.environ[CHILDREN].split(",")
    changed = command([sys.executable, *words[1:]], owned.owns, named)
    if changed is None:
        return
    arguments, what = changed
    if told and told == _identity(sys.__stderr__):
        complaints.say(f"the program starts {what}: it runs as `mox run` does.")
    os.execv(sys.executable, arguments)


def command(
    args: Sequence[Any], owns: Callable[[str], bool], named: Collection[str], folder: Any = None
) -> tuple[list[str], str] | None:
    """Returns the command that starts a user's program under `mox run`.

    Args:
        args: the command of the program.
        owns: whether a file is the user's.
        named: installed packages that also see the v1 face.
        folder: the working directory of the new process; None: the current one.

    Returns:
        The command and the program's name; None: the command needs no change.
    """
    words = [os.fsdecode(word) for word in args if isinstance(word, str | bytes | os.PathLike)]
    if len(words) != len(args) or not words or not _is_python(words[0]):
        return None
    count = _options(words)
    options, rest = words[1:count], words[count:]
    if not rest:
        return None
    if rest[0] == "-m":
        path = _module(rest[1]) if len(rest) > 1 and folder is None else ""
        what = " ".join(rest[:2])
    else:
        path, what = os.path.join(folder or "", rest[0]), rest[0]
    # Scripts of packages often have no ending.
    ending = os.path.splitext(path)[1]
    if ending not in ("", ".py") or not os.path.isfile(path) or not owns(os.path.abspath(path)):
        return None
    roots = _roots()
    uses = (use.path.partition(".")[0] for use in texts.uses(path, roots))
    if not any(library in roots for library in uses) and not port.is_python2(path):
        return None
    faces = [f"--face={name}" for name in named]
    # -P: a file moxing.py in that folder must not be taken for the package.
    return [words[0], *options, "-P", "-m", "moxing", "run", *faces, *rest], what


@functools.cache
def _roots() -> tuple[str, ...]:
    """The modules that a program sees otherwise under `mox run`, and those that load others."""
    shown = set(libraries.specs()) - sys.stdlib_module_names
    return (*_LIBRARIES, *_LOADERS, *sorted(shown))


def _is_python(word: str) -> bool:
    if not os.path.basename(word).startswith("python"):
        return word == sys.executable
    found = shutil.which(word)
    return found is not None and os.path.realpath(found) == os.path.realpath(sys.executable)


def _options(words: Sequence[str]) -> int:
    """Returns the index of the first word after Python's own options."""
    count = 1
    while count < len(words):
        word = words[count]
        if word in _WITH_VALUE:
            count += 2
        elif word.startswith(_WITH_VALUE) or (len(word) > 1 and _only_letters(word)):
            count += 1
        else:
            break
    return count


def _only_letters(word: str) -> bool:
    return word[0] == "-" and set(word[1:]) <= _ALONE


def _module(name: str) -> str:
    try:
        return str(modules.find(name).origin)
    except MoxValueError:
        return ""
