"""Knows the values of the program's own flags, those at their defaults too, for records of runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from absl import flags as absl_flags

from moxing.flags.table import CLUSTER_FLAGS
from moxing.framework.secret_names import has_credentials, is_secret

_PLAIN: Final = (str, int, float, bool, type(None))
_INSTALLED: Final = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
# Names that absl itself gives every program.
_OF_ABSL: Final = ("absl.", "moxing.")
# The values that argparse gave the program, by name.
_parsed: dict[str, Any] = {}
# The names of the flags that the program defined in the face's `tf.flags`, and the flags.
_defined: dict[str, absl_flags.FlagValues] = {}


def note_parsed(values: Mapping[str, Any]) -> None:
    """Records what a parser of `argparse` made of the program's command line."""
    _parsed.update(values)


def note_defined(name: str, flags: absl_flags.FlagValues) -> None:
    """Records that the program defined a flag in `tf.flags`, whose value `flags` holds."""
    _defined[name] = flags


def effective() -> dict[str, Any]:
    """Returns the values of the program's flags that are plain, without those that look secret.

    Flags of absl and of the face's `tf.flags` are known as soon as they are defined; those of
    argparse once the program has parsed its command line under `mox run`.
    """
    found = {name: value for name, value in _all() if name not in CLUSTER_FLAGS}
    return {name: _plain(value) for name, value in found.items() if _may_be_told(name, value)}


def _all() -> Iterator[tuple[str, Any]]:
    for module, flags in absl_flags.FLAGS.flags_by_module_dict().items():
        if _is_programs(module):
            yield from ((flag.name, flag.value) for flag in flags)
    for name, values in _defined.items():
        if name in values:
            yield name, values[name].value
    yield from _parsed.items()


def _is_programs(module: str) -> bool:
    """Whether a module, or the script for which absl has its path, belongs to the program."""
    if f"{module}.".startswith(_OF_ABSL):
        return False
    path = getattr(sys.modules.get(module), "__file__", None) or module
    return not any(part in path for part in _INSTALLED)


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, _PLAIN) else str(value)


def _may_be_told(name: str, value: Any) -> bool:
    """Whether a value is data that a record may hold: no function, and nothing secret."""
    values = value if isinstance(value, list | tuple) else [value]
    plain = all(isinstance(item, (*_PLAIN, os.PathLike)) for item in values)
    texts = [item for item in values if isinstance(item, str)]
    return plain and not is_secret(name) and not any(map(has_credentials, texts))
