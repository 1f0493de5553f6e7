"""Switches `mox legacy` on and off by a file in site-packages that Python reads at its start."""

from __future__ import annotations

import os
import sysconfig
from importlib import metadata

from moxing.errors import MoxRuntimeError
from moxing.framework import atomic

MARKER = "openmox-armed.pth"
# Python runs this line at every start while the file exists. The line must not fail after openmox
# has been uninstalled.
_LINE = (
    'import sys; exec(\'if getattr(sys, "argv", [""])[0].endswith(".py"):\\n try:\\n'
    "  from moxing.legacy.startup import rerun\\n except ImportError:\\n  pass\\n"
    " else:\\n  rerun(all_old=%s)')\n"
)


def marker() -> str:
    """Path of the file that arms this environment."""
    return os.path.join(sysconfig.get_path("purelib"), MARKER)


def line(all_old: bool) -> str:
    """Returns the contents of the file; for `all_old` see `arm`."""
    return _LINE % all_old


def _list_in_record(listed: bool) -> None:
    """Lists the file among those of the installed openmox or not: `pip uninstall` removes these.

    Where openmox was installed elsewhere or without such a list, only `disarm` removes the file.
    """
    try:
        installed = metadata.distribution("openmox")
    except metadata.PackageNotFoundError:
        return
    records = [file for file in installed.files or () if file.name == "RECORD"]
    if not records or str(installed.locate_file(MARKER)) != marker():
        return
    path, entry = str(installed.locate_file(records[0])), f"{MARKER},,"
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if line != entry]
    lines += [entry] if listed else []
    atomic.replace(path, ("".join(f"{line}\n" for line in lines).encode(),))


def arm(all_old: bool = False) -> str:
    """Arms this environment; returns a sentence that says so.

    Args:
        all_old: whether `mox run` also runs programs of TensorFlow 1.x that do not import openmox.

    Raises:
        MoxRuntimeError: site-packages cannot be written to.
    """
    path = marker()
    try:
        atomic.replace(path, (line(all_old).encode(),))
        _list_in_record(listed=True)
    except OSError as error:
        raise MoxRuntimeError(
            f"cannot write {path}: {error.strerror}. Run `mox legacy on` as the owner of this"
            " Python environment or in a virtual environment; `mox run SCRIPT.py` needs neither."
        ) from error
    also = ", and those that are written for TensorFlow 1.x," if all_old else ""
    return (
        f"on: `python SCRIPT.py` now runs programs that import moxing or oneflow{also} as"
        f" `mox run SCRIPT.py` does ({path})."
    )


def disarm() -> str:
    """Disarms this environment; returns a sentence that says so.

    Raises:
        MoxRuntimeError: the file cannot be removed.
    """
    path = marker()
    try:
        os.remove(path)
        _list_in_record(listed=False)
    except FileNotFoundError:
        return f"off: it was not on ({path} is not there)."
    except OSError as error:
        raise MoxRuntimeError(f"cannot remove {path}: {error.strerror}.") from error
    return f"off: `python SCRIPT.py` runs programs as they are again ({path} is removed)."


def status() -> str:
    """Returns a sentence that says whether this environment is armed, and by which file."""
    path = marker()
    try:
        with open(path, encoding="utf-8") as file:
            every = ", for every program of TensorFlow 1.x" if file.read() == line(True) else ""
    except FileNotFoundError:
        return f"off: {path} is not there."
    except OSError:
        every = ""
    return f"on: {path} is there{every}."
