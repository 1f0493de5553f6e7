"""Has argparse and absl say more in errors: the file of a flag, and what a typo may mean."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from absl import flags as absl_flags

from moxing.errors import near_matches
from moxing.flags import FLAG_NAMES, origins

_UNKNOWN = "unrecognized arguments: "
_FLAG = re.compile(r"(?:^|\s)--([A-Za-z_][\w-]*)")


def install() -> None:
    """Changes the errors of both parsers for the rest of the process, once."""
    if argparse.ArgumentParser.error.__module__ == __name__:
        return
    real_error = argparse.ArgumentParser.error
    real_call = absl_flags.FlagValues.__call__

    def error(self: argparse.ArgumentParser, message: str) -> NoReturn:
        real_error(self, origins.about(message) + _meant(self, message))

    def call(self: absl_flags.FlagValues, *args: Any, **kwargs: Any) -> list[str]:
        try:
            return real_call(self, *args, **kwargs)
        except absl_flags.UnrecognizedFlagError as error:
            error.args = (f"{origins.prefix(error.flagname)}{error}",)
            raise
        except absl_flags.Error as error:
            error.args = (origins.about(str(error)),)
            raise

    argparse.ArgumentParser.error = error  # type: ignore[method-assign]
    absl_flags.FlagValues.__call__ = call


def _meant(parser: argparse.ArgumentParser, message: str) -> str:
    """Returns `. Did you mean 'steps'?` for each unknown flag that is like a known flag."""
    if not message.startswith(_UNKNOWN):
        return ""
    known = sorted({*FLAG_NAMES, *(one.lstrip("-") for one in parser._option_string_actions)})
    hints = [near_matches(name, known) for name in _FLAG.findall(message)]
    said = "".join(dict.fromkeys(hints))
    return f".{said}" if said else ""
