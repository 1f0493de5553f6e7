"""Reads a file of flags, `mox run --config=FILE`, or the `run.json` of an earlier run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from moxing.errors import MoxValueError, escaped, shown
from moxing.framework import named_pipes

_PROGRAM = "program"
# The launcher sets these for each task.
_OF_TASKS = ("--job_name", "--task_index", "--worker_hosts", "--ps_hosts")
_LARGEST = 1 << 20  # Characters; a larger file is no file of flags.
_BITS = 1024  # Bits of an integer; floats reach numbers of that size.
# The errors that YAML's reader raises for `!!bool x`, `!!timestamp x` and `!!int ""`.
_MALFORMED = (AttributeError, KeyError, TypeError, IndexError)


@dataclass(frozen=True)
class Config:
    """The contents of a file.

    Attributes:
        program: path or dotted name of the program; empty if the file names none.
        as_module: whether `program` is a dotted name.
        arguments: the flags as a command line has them.
        left_out: names of an earlier run's flags whose values its record leaves out, since they
            look like secrets.
    """

    program: str = ""
    as_module: bool = False
    arguments: tuple[str, ...] = ()
    left_out: tuple[str, ...] = field(default=())


def read(path: str) -> Config:
    """Reads the flags in a file.

    Args:
        path: a YAML or JSON file: a mapping of flags' names, without dashes, to numbers, text,
            true, false, or lists of these; `program` names the program. Or a run.json.

    Raises:
        MoxValueError: the file can't be read, or has other contents.
    """
    content = _content(path)
    if isinstance(content.get("outcome"), dict) and "job" in content:
        return _of_run(path, content)
    arguments = [word for name, value in content.items() for word in _flag(path, name, value)]
    program = content.get(_PROGRAM, "")
    if not isinstance(program, str):
        raise MoxValueError(f"{path}: program must be the path of a program, not {shown(program)}.")
    return Config(program, False, tuple(arguments))


def _content(path: str) -> dict[Any, Any]:
    import yaml

    try:
        named_pipes.refuse(path)
        with open(path, encoding="utf-8") as stream:
            text = stream.read(_LARGEST + 1)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise MoxValueError(f"--config={path}: the file can't be read: {reason}.") from error
    if len(text) > _LARGEST:
        raise MoxValueError(f"--config={path}: the file has more than {_LARGEST:,} characters.")
    try:
        # JSON has its own reader: YAML's takes a hundred times as long.
        content = json.loads(text) if path.endswith(".json") else yaml.safe_load(text)
    except _MALFORMED as error:
        first = "a value is not of the type of its tag"  # YAML's reader has no words for it.
        raise MoxValueError(f"--config={path}: {first}, such as !!int or !!timestamp.") from error
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise MoxValueError(f"--config={path}: {_fault(error)}.") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise MoxValueError(
            f"--config={path}: {shown(content)} is no mapping of flags. Write a line such as"
            " `num_gpus: 4` for each flag."
        )
    return content


def _fault(error: Exception) -> str:
    """`line 3: expected ',' or ']', but got '<stream end>'`, or another error's own words."""
    problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    context, begin = getattr(error, "context", None), getattr(error, "context_mark", None)
    if not problem or mark is None:
        return shown(" ".join(str(error).split()), plain=True)
    during = f" {context}" if context else ""
    since = f" that begins in line {begin.line + 1}" if during and begin is not None else ""
    return f"line {mark.line + 1}: {escaped(problem)}{escaped(during)}{since}"


def _flag(path: str, name: Any, value: Any) -> list[str]:
    if name == _PROGRAM or value is None:
        return []
    if not isinstance(name, str) or not name.strip("-") or "=" in name or " " in name:
        raise MoxValueError(f"--config={path}: {shown(name)} is no name of a flag.")
    flag = f"--{name.lstrip('-')}"
    if value is True:
        return [flag]
    values = value if isinstance(value, list) else [value]
    if not all(_is_plain(one) for one in values):
        raise MoxValueError(
            f"--config={path}: the value of {name}, {shown(value)}, must be a number, text, true,"
            " false, or a list of these."
        )
    return [f"{flag}={','.join(map(_text, values))}"]


def _is_plain(value: object) -> bool:
    if isinstance(value, int):
        return value.bit_length() <= _BITS  # Python refuses to write down a number of any length.
    return isinstance(value, str | float)


def _text(value: str | int | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_run(path: str, facts: Mapping[str, Any]) -> Config:
    """Returns an earlier run's command: the program's arguments, then openmox's flags."""
    program, flags = facts.get(_PROGRAM), facts.get("flags")
    if not isinstance(program, dict) or not isinstance(flags, dict):
        raise MoxValueError(
            f"--config={path}: this record does not say which program was run. Name the program and"
            " its flags, or repeat a run that this version of openmox recorded."
        )
    arguments, left_out = program.get("arguments", []), program.get("left_out", [])
    name = program.get("module") or program.get("script")
    listed = isinstance(arguments, list) and isinstance(left_out, list)
    texts = [*arguments, *left_out] if listed else [None]
    if not isinstance(name, str) or not all(isinstance(one, str) for one in texts):
        raise MoxValueError(f"--config={path}: the record of the program can't be read.")
    given = [
        word
        for flag, value in flags.items()
        if flag not in _OF_TASKS
        for word in _flag(path, flag, value)
    ]
    return Config(name, "module" in program, (*arguments, *given), tuple(left_out))
