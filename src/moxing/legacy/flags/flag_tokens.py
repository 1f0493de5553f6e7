"""Splits a command line into known flags and other arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from moxing.errors import MoxValueError
from moxing.flags import origins
from moxing.legacy.flags.command_line import is_flag

_TRUTH = frozenset(("true", "false"))


def split(
    arguments: Sequence[str], find: Callable[[str], Any]
) -> tuple[list[tuple[str, str]], list[str]]:
    """Finds flags at any position.

    Args:
        arguments: the arguments without the program's name.
        find: returns the absl flag of a name, or None.

    Returns:
        (name, text) of each known flag in order, and the other arguments in order. Arguments after
        a bare `--` are not flags, and the `--` itself is dropped.

    Raises:
        MoxValueError: the value of a flag is missing.
    """
    found: list[tuple[str, str]] = []
    rest: list[str] = []
    waiting = list(arguments)
    while waiting:
        argument = waiting.pop(0)
        if argument == "--":
            return found, [*rest, *waiting]
        name, equals, text = argument.lstrip("-").partition("=")
        flag = find(name) if is_flag(argument) else None
        if flag is not None:
            found.append((flag.name, text if equals else _following(flag, waiting)))
        elif is_flag(argument) and not equals and (off := _switched_off(name, find)):
            found.append((off, "false"))
        else:
            rest.append(argument)
    return found, rest


def _following(flag: Any, waiting: list[str]) -> str:
    """Returns the value of a flag that was given without `=`."""
    if flag.boolean:
        # `--flag False` sets the flag, as it did before TensorFlow 1.5.
        return waiting.pop(0) if waiting and waiting[0].lower() in _TRUTH else "true"
    if not waiting or is_flag(waiting[0]) or waiting[0] == "--":
        raise MoxValueError(
            f"{origins.prefix(flag.name)}flag --{flag.name} needs a value: --{flag.name}=VALUE."
            f"{origins.wants_quotes(flag.name)}"
        )
    return waiting.pop(0)


def _switched_off(name: str, find: Callable[[str], Any]) -> str | None:
    flag = find(name[2:]) if name.startswith("no") and len(name) > 2 else None
    return flag.name if flag is not None and flag.boolean else None
