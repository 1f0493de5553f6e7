"""`tf.app.run`: reads the flags, calls the program's main, and ends the program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from moxing import logs
from moxing.errors import MoxAttributeError
from moxing.legacy.flags.command_line import CommandLine
from moxing.legacy.flags.tolerant_flags import TolerantFlags

_PARSERS = frozenset(("argparse", "ArgumentParser"))


def runner(flags: TolerantFlags, command_line: CommandLine) -> Callable[..., NoReturn]:
    """Returns the `tf.app.run` for these flags."""

    def run(
        main: Callable[..., Any] | None = None,
        argv: Sequence[str] | None = None,
        flags_parser: Any = None,
    ) -> NoReturn:
        """Calls `main(argv)`, and ends the program with its result.

        Args:
            main: the function to call; default: the function `main` of the main program.
            argv: the command line, starting with the program's name; default: `sys.argv`. `main`
                gets the arguments that are not flags.
            flags_parser: not used.

        Raises:
            SystemExit: always, with the result of `main` if that is a number or a string.
            MoxAttributeError: there is no `main`.
            MoxValueError: a flag of the command line is a typo of one that the program defines.
        """
        del flags_parser
        main = main or getattr(sys.modules["__main__"], "main", None)
        if main is None:
            raise MoxAttributeError(
                f"tf.app.run() calls main(argv), but {sys.argv[0]} has no function main."
            )
        rest = flags(sys.argv if argv is None else argv)
        # A main that parses arguments itself takes flags that are unknown so far; they are checked
        # as it does, or before the first run of a session.
        if _PARSERS.isdisjoint(getattr(main, "__globals__", ())):
            command_line.check_unknown()
        logs.show_infos()
        result = main(rest)
        # Any other result, such as that of mox.run, would count as a failure.
        sys.exit(result if isinstance(result, int | str) else None)

    return run
