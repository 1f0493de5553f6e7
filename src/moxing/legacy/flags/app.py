"""`tf.app.run`: reads the flags, calls the program's main, and ends the program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from moxing.errors import MoxAttributeError
from moxing.legacy.flags.command_line import CommandLine
from moxing.legacy.flags.tolerant_flags import TolerantFlags


def runner(flags: TolerantFlags, command_line: CommandLine) -> Callable[..., NoReturn]:
    """`tf.app.run` for these flags."""

    def run(
        main: Callable[..., Any] | None = None,
        argv: Sequence[str] | None = None,
        flags_parser: Any = None,
    ) -> NoReturn:
        """Calls `main(argv)` and ends the program with what it returns.

        Args:
            main: default: the function `main` of the main program.
            argv: the command line, program's name first; default `sys.argv`. `main` gets what no
                flag has taken of it.
            flags_parser: accepted and not used.

        Raises:
            SystemExit: always, with what `main` returns if that is a number or text.
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
        command_line.check_unknown()
        result = main(rest)
        # Anything else, such as what mox.run returns, would count as a failure.
        sys.exit(result if isinstance(result, int | str) else None)

    return run
