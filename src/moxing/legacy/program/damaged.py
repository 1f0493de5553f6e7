"""Names the damaged file and record of an error that a program's own reading ended in."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from typing import Any

_MOST = 200  # Files that are read again to find the damaged one, at most.
_HDF5 = (".h5", ".hdf5", ".hdf")
_H5PY = os.path.join("h5py", "_hl", "files.py")


def about(error: BaseException) -> str:
    """Returns which file is damaged, and where; "" where that is not known, or said already."""
    if type(error).__name__ == "DataLossError":
        return _about_records(error)
    return _about_hdf5(error) if isinstance(error, OSError) else ""


def _about_records(error: Any) -> str:
    # TensorFlow is there, as its error is.
    from moxing.engine.graph import records

    graph = getattr(getattr(error, "op", None), "graph", None)
    told = records.broken(error, graph) if graph is not None else ""
    told = told or records.broken_in(error, _named(error))
    return f"{told}." if told else ""


def _named(error: BaseException) -> Iterator[str]:
    """Files that variables and texts of the frames of an error name, innermost frame first."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    seen: set[str] = set()
    for frame in reversed(frames):
        for value in [*frame.f_locals.values(), *frame.f_code.co_consts]:
            path = os.fspath(value) if isinstance(value, str | os.PathLike) else ""
            if isinstance(path, str) and "\0" not in path and path not in seen:
                seen.add(path)
                if os.path.isfile(path):
                    yield path
        if len(seen) > _MOST:
            return


def _about_hdf5(error: OSError) -> str:
    opened = [
        frame.f_locals.get("name")
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename.endswith(_H5PY) and frame.f_code.co_name == "make_fid"
    ]
    if not opened:
        return ""
    # Keras opens some files itself, and h5py gets an object without their names.
    names = [os.fsdecode(name) for name in opened if isinstance(name, bytes | str)]
    names += [path for path in _named(error) if path.endswith(_HDF5)]
    path = next(filter(os.path.isfile, names), None)
    if path is None or path in str(error):
        return ""
    return (
        f"{path} ({os.path.getsize(path)} bytes) is damaged, or no HDF5 file, which .h5 stands for."
        " Get the file again."
    )
