"""The parser of subcommands, which asks "Did you mean" of an option that does not exist."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from moxing.errors import near_matches, on_lines

# argparse's message for a value that is none of an option's choices.
_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)$")


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` whose errors about unknown or missing options name a near match."""

    _given: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._given = sys.argv[1:] if args is None else list(args)
        return super().parse_known_args(self._given, namespace)

    def error(self, message: str) -> NoReturn:
        about_names = message.startswith(("unrecognized", "the following arguments are required"))
        choice = _CHOICE.search(message)
        if choice is not None:
            near = near_matches(choice[1], re.findall(r"[\w.-]+", choice[2]))
            message += f".{near}" if near else ""
        super().error(on_lines(message + (self._hint() if about_names else "")))

    def _hint(self) -> str:
        known = [name for name in self._option_string_actions if name.startswith("--")]
        for word in self._given:
            name = word.partition("=")[0]
            if name.startswith("--") and name not in known and (near := near_matches(name, known)):
                return f". There is no option {name}.{near}"
        return ""
