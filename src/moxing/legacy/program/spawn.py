"""Shows the v1 face to processes that the program spawns.

A spawned process is a new interpreter that imports the main program under the name `__mp_main__`.
multiprocessing sends such an interpreter a dict, the preparation data. One more item in it shows
the face when it is unpickled.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Collection, Mapping, Sequence
from multiprocessing import spawn
from typing import Any

from moxing.legacy.face import importer
from moxing.legacy.flags.command_line import CommandLine
from moxing.legacy.plain.dialect import Dialect
from moxing.legacy.program import own_flags, reading, v1_face
from moxing.legacy.sessions import quiet

_KEY = "mox_v1_face"


class _Face:
    """An object that shows the face when it is unpickled in a new process."""

    def __init__(self, command_line: CommandLine, found: Dialect, named: Collection[str]) -> None:
        self._arguments = (
            *(list(command_line.arguments), dict(command_line.given)),
            *(found, list(named)),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return enter, self._arguments


def install(command_line: CommandLine, found: Dialect, named: Collection[str]) -> None:
    """Makes later spawned processes show the face."""
    real = spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {**real(name), _KEY: _Face(command_line, found, named)}

    spawn.get_preparation_data = get_preparation_data


def enter(
    arguments: Sequence[str], given: Mapping[str, str], found: Dialect, named: Collection[str]
) -> None:
    """Shows the face in a newly spawned process, before it imports the main program."""
    if found.keras == 2 or not found.eager:
        os.environ["TF_USE_LEGACY_KERAS"] = "1"
    quiet.before_tensorflow()
    texts = [f"--{name}={text}" for name, text in given.items()]
    # The parent has warned already.
    command_line = own_flags.take_runtime_flags([*texts, *arguments], quiet=True)
    own_flags.withhold_cluster(command_line, found)
    users = v1_face.show_v1_face(command_line, found, named)
    install(command_line, found, named)

    def import_main(path: str) -> None:
        main = users.prepare(types.ModuleType("__mp_main__"))
        main.__dict__.update(__file__=path, __loader__=importer.MainLoader("__mp_main__", path))
        sys.modules["__main__"] = sys.modules["__mp_main__"] = main
        exec(reading.read_program(path), main.__dict__)

    spawn._fixup_main_from_path = import_main
