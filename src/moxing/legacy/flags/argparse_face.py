"""Lets `argparse` programs run with flags that belong to openmox or to the platform.

Runtime flags are removed from the command line before a program starts; a parser that defines one
of them gets it back. A parser of the user's own code ignores unknown flags.
"""

from __future__ import annotations

import argparse
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from moxing.flags import program_flags
from moxing.legacy.flags.command_line import CommandLine, flags_in, is_flag

_FALSE = frozenset(("false", "0", "no", "f", "n"))


def install(command_line: CommandLine, is_users: Callable[[types.FrameType], bool]) -> None:
    """Changes `argparse.ArgumentParser` for the rest of the process.

    Args:
        command_line: the command line of the program.
        is_users: whether a frame runs the user's own code.
    """
    real_known = argparse.ArgumentParser.parse_known_args
    real_parse = argparse.ArgumentParser.parse_args

    def parse_known_args(self: Any, args: Any = None, namespace: Any = None) -> Any:
        of_program = args is None or list(args) == sys.argv[1:]
        if args is None or of_program:
            args = _put_back(self, sys.argv[1:], command_line)
        values, extras = real_known(self, args, namespace)
        if of_program:
            program_flags.note_parsed(vars(values))
        _record(self, args, extras, command_line)
        return values, extras

    def parse_args(self: Any, args: Any = None, namespace: Any = None) -> Any:
        if not is_users(_caller()):
            return real_parse(self, args, namespace)
        values, extras = self.parse_known_args(args, namespace)
        if not extras:
            return values
        if not _only_flags(extras):
            return real_parse(self, args, namespace)
        command_line.tolerate(_knows_nothing)
        command_line.check_unknown()
        return values

    argparse.ArgumentParser.parse_known_args = parse_known_args
    argparse.ArgumentParser.parse_args = parse_args


def _caller() -> types.FrameType:
    """Returns the frame that called argparse."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename == argparse.__file__:
        frame = frame.f_back
    return frame


def _knows_nothing(name: str) -> bool:
    del name
    return False


def _only_flags(extras: Sequence[str]) -> bool:
    """Whether a parser's unknown arguments are only long flags, with or without values."""
    before = ""
    for extra in extras:
        is_value = before.startswith("--") and "=" not in before and not is_flag(extra)
        if not is_value and not (extra.startswith("--") and is_flag(extra)):
            return False
        before = "" if is_value else extra
    return True


def _put_back(parser: Any, arguments: Sequence[str], command_line: CommandLine) -> list[str]:
    before: list[str] = []
    after: list[str] = []
    for name, text in command_line.offered.items():
        for place, owner in ((before, parser), (after, _subparser_with(parser, f"--{name}"))):
            action = owner and owner._option_string_actions.get(f"--{name}")
            if action:
                place.extend(_arguments(action, name, text))
    return [*before, *arguments, *after]


def _arguments(action: argparse.Action, name: str, text: str) -> list[str]:
    if action.nargs != 0:
        return [f"--{name}={text}"]
    if text.lower() not in _FALSE:
        return [f"--{name}"]
    return [f"--no-{name}"] if f"--no-{name}" in action.option_strings else []


def _subparser_with(parser: Any, option: str) -> Any:
    """Returns a subparser of `parser`, at any depth, that defines `option`; None: none."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                if option in child._option_string_actions:
                    return child
                deeper = _subparser_with(child, option)
                if deeper is not None:
                    return deeper
    return None


def _record(
    parser: Any, arguments: Sequence[str], extras: Sequence[str], command_line: CommandLine
) -> None:
    """Records the flags that the parser took and defines, and warns of empty ones."""
    options = parser._option_string_actions
    command_line.define(option.lstrip("-") for option in options)
    unknown = {name for name, _ in flags_in(extras)}
    for name, text in flags_in(arguments):
        if name in unknown:
            continue
        command_line.take((name,))
        action = options.get(f"--{name}")
        if text == "" and action is not None:
            command_line.note_empty(name, action.default)
