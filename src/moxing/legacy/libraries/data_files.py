"""Libraries of files of data as they were in 2018.

PyYAML's `load` of one argument is read safely; h5py's datasets have `value`, and its files are
opened for writing by default.
"""

from __future__ import annotations

import functools
import importlib
import io
import os
from typing import Any

from moxing.legacy.face.faces import Spec
from moxing.legacy.libraries import users_only


def h5py_spec() -> Spec:
    """h5py; everything else is its own."""
    return Spec(
        roots=("h5py",),
        names={"File": lambda: _file()},
        arrive=_arrive,
        library=True,
    )


def _arrive() -> None:
    import h5py

    users_only.add(h5py.Dataset, "value", lambda data: data[()], "property")


def _file() -> type:
    import h5py

    class File(h5py.File):
        """`h5py.File`, whose mode was by default "a", or "r" for files that can't be written."""

        def __init__(self, name: Any, mode: str | None = None, *args: Any, **kwargs: Any) -> None:
            if mode is None and isinstance(name, str | os.PathLike):
                readable = os.path.exists(name) and not os.access(name, os.W_OK)
                mode = "r" if readable else "a"
            super().__init__(name, mode or "r", *args, **kwargs)

    return File


def yaml_spec() -> Spec:
    """PyYAML; everything else is its own."""
    return Spec(
        roots=("yaml",),
        names={"load": lambda: load, "load_all": lambda: load_all},
        library=True,
    )


def load(stream: Any, Loader: Any = None) -> Any:
    """Returns the first document of a stream.

    Args:
        stream: a text or an open file.
        Loader: default: SafeLoader, which makes plain values only. Other values need a Loader.
    """
    import yaml

    return yaml.load(stream, Loader or yaml.SafeLoader)


def load_all(stream: Any, Loader: Any = None) -> Any:
    """Yields all documents of a stream; see `load`."""
    import yaml

    return yaml.load_all(stream, Loader or yaml.SafeLoader)


# Loaders and dumpers of ruamel.yaml, by the kind of `YAML` that stands for them.
_RUAMEL = {"RoundTrip": "rt", "Safe": "safe", "Base": "base"}
_SETTINGS = ("allow_unicode", "default_flow_style", "encoding", "explicit_end", "explicit_start")


def ruamel_spec() -> Spec:
    """ruamel.yaml with the functions that it had until 0.17; everything else is its own."""
    module = Spec(
        roots=("ruamel.yaml",),
        names={
            "dump": lambda: ruamel_dump,
            "load": lambda: ruamel_load,
            "round_trip_dump": lambda: functools.partial(ruamel_dump, Dumper="RoundTripDumper"),
            "round_trip_load": lambda: functools.partial(ruamel_load, Loader="RoundTripLoader"),
            "safe_dump": lambda: functools.partial(ruamel_dump, Dumper="SafeDumper"),
            "safe_load": lambda: functools.partial(ruamel_load, Loader="SafeLoader"),
        },
        library=True,
    )
    return Spec(roots=("ruamel",), names={"yaml": module})


def _ruamel(kind: Any) -> Any:
    """Returns the `YAML` for a loader or dumper, which may be given by its name."""
    made: Any = importlib.import_module("ruamel.yaml").YAML
    name = kind if isinstance(kind, str) else getattr(kind, "__name__", "")
    typ = next((typ for start, typ in _RUAMEL.items() if name.startswith(start)), "unsafe")
    return made(typ=typ, pure=True)


def ruamel_load(stream: Any, Loader: Any = None, **_: Any) -> Any:
    """`ruamel.yaml.load`; without a Loader it makes plain values only, as `load` does."""
    return _ruamel(Loader or "SafeLoader").load(stream)


def ruamel_dump(
    data: Any, stream: Any = None, Dumper: Any = None, indent: Any = None, **options: Any
) -> str | None:
    """`ruamel.yaml.dump`, which writes to a stream or returns a text."""
    writer = _ruamel(Dumper or "Dumper")
    for name in (*_SETTINGS, "width", "version", "tags", "block_seq_indent"):
        if options.get(name) is not None:
            setattr(writer, name, options[name])
    if indent is not None:
        writer.indent = indent
    text = io.StringIO()
    if stream is None:
        writer.dump(data, text)
        return text.getvalue()
    writer.dump(data, stream)
    return None
