"""`mox`: the command line. It starts without TensorFlow."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

import moxing
from moxing import leaving, logs
from moxing.cli.options import Parser
from moxing.errors import escaped, near_matches

# The module of moxing.cli, and its function, for each command; only the command's own is imported.
COMMANDS: dict[str, str] = {
    "run": "run:main",
    "launch": "launch:main",
    "export": "export:main",
    "convert": "convert:main",
    "runs": "runs:main",
    "compare": "runs:compare",
    "checkpoints": "checkpoints:main",
    "doctor": "doctor:main",
    "uai": "uai:main",
    "legacy": "legacy:main",
    "port": "port:main",
}
# These set logging up by themselves, as the program that they run wants it, or with progress.
_LOGGING = ("run", "export", "checkpoints")
_INTERRUPTED = 130
_PIPE_CLOSED = 141  # As a shell reports SIGPIPE.
_DESCRIPTION = "Runs MoXing programs on current TensorFlow."
_EPILOG = """\
commands:
  run SCRIPT.py [flags]     run a program, also one written for TensorFlow 1.x
  launch SCRIPT.py [flags]  run a program as several processes on this machine
  export SCRIPT.py          export a checkpoint of a program's model, without training
  convert SRC DST --to=...  turn folders of images, TFRecord and OFRecord files into each other
  runs [FOLDER]             list the runs below a folder: steps, last values, how they ended
  compare RUN RUN ...       write a page with the runs' curves over each other
  checkpoints FOLDER        list, verify, compare, average, copy or remove checkpoints
  doctor [--cluster]        look for what would keep a program from running
  uai train "SCRIPT.py"     run a training of UCloud's UAI Train on this machine
  port FILE.py [--write]    show or write what a program of Python 2 becomes
  legacy on|off|status      let plain `python SCRIPT.py` run such programs too

`mox COMMAND --help` says more."""


def main(argv: Sequence[str] | None = None) -> int:
    """The `mox` command.

    Args:
        argv: arguments without the program's name; default `sys.argv[1:]`.

    Returns:
        The exit code: 0 on success, 1 if the work failed, 2 if the command makes no sense, 130
        after Ctrl-C.
    """
    if argv is None:
        return leaving.told(lambda: main(sys.argv[1:]))
    arguments = list(argv)
    command = arguments[0] if arguments else ""
    if command in COMMANDS:
        if command not in _LOGGING:
            logs.of_command()
        # All arguments after the command belong to it: a script's flags may look like ours.
        try:
            return _function(command)(arguments[1:])
        except KeyboardInterrupt:
            print("mox: interrupted", file=sys.stderr)
            return _INTERRUPTED
        except BrokenPipeError:  # For example, `head` has read enough.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _PIPE_CLOSED
    parser = Parser(
        prog="mox",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        usage="mox COMMAND ...",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"openmox {moxing.__version__}")
    if not arguments:
        parser.print_help()
        return 0
    if not command.startswith("-"):
        hint = near_matches(command, COMMANDS) or f" The commands are {', '.join(COMMANDS)}."
        if command.endswith(".py"):
            hint = f" To run a program: mox run {escaped(command)}"
        print(f"mox: error: there is no command {command!r}.{hint}", file=sys.stderr)
        return 2
    parser.parse_args(arguments[:1])
    return 2


def _function(command: str) -> Callable[[Sequence[str]], int]:
    module, name = COMMANDS[command].split(":")
    return getattr(import_module(f"moxing.cli.{module}"), name)
