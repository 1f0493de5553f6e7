"""Takes openmox's flags from a program's command line, and from the flag files it names."""

from __future__ import annotations

from collections.abc import Sequence

from moxing.errors import MoxValueError
from moxing.flags.table import CLUSTER_FLAGS, FLAG_NAMES
from moxing.legacy.flags import argparse_face
from moxing.legacy.flags.command_line import CommandLine, flags_in
from moxing.legacy.plain import flagless
from moxing.legacy.plain.dialect import Dialect

_ARGPARSE = {"argparse", "argv"}
_ABSL = {"FLAGS", "absl", "app", "flags"}


def take_runtime_flags(arguments: Sequence[str], quiet: bool = False) -> CommandLine:
    """Sets openmox's flags, and leaves the other arguments to the program.

    Args:
        arguments: the command line without the script.
        quiet: whether to suppress warnings about the program's own arguments.

    Raises:
        MoxError: the value of a runtime flag is invalid, or a flag file cannot be read.
    """
    from absl import flags as absl_flags

    from moxing import flags as runtime

    try:
        expanded = absl_flags.FLAGS.read_flags_from_files(list(arguments))
    except absl_flags.CantOpenFlagFileError as error:
        raise MoxValueError(f"--flagfile: {error.__cause__ or error.__context__}.") from error
    except UnicodeDecodeError as error:
        raise MoxValueError(f"--flagfile: {_file_read(error)} is not a text file") from error
    except absl_flags.IllegalFlagValueError as error:
        raise MoxValueError("--flagfile needs a value: --flagfile=FILE.") from error
    rest = runtime.consume(expanded)
    return CommandLine(rest, runtime.given(), runtime.FLAG_NAMES, quiet)


def withhold_cluster(command_line: CommandLine, found: Dialect) -> None:
    """Keeps the flags of the cluster from a program of Horovod.

    Such a program learns its place from Horovod. Flags of these names, which it may have for
    parameter servers beside Horovod, are not set where horovodrun starts it.
    """
    if found.horovod:
        command_line.withhold(CLUSTER_FLAGS)


def take_from_modern(script: str, arguments: Sequence[str]) -> CommandLine:
    """Sets openmox's flags for a program that imports `moxing.keras`.

    The program's parser, argparse or absl, stays as strict as it is, but for openmox's flags. With
    any other parser the command line stays as it is; `moxing.keras.fit` then reads it.

    Args:
        script: path of the program.
        arguments: the command line without the script.

    Raises:
        MoxValueError: the value of a runtime flag is invalid, or a flag of a program that reads no
            flags is a misspelled flag of openmox.
    """
    from moxing import flags as runtime

    names = flagless.readers(script)
    if names is not None and "absl" in names and names <= _ABSL:
        runtime.consume(arguments)
        runtime.register()  # absl then reads these flags, too, and suggests their names.
    elif names == set() or (names and "argparse" in names and names <= _ARGPARSE):
        command_line = CommandLine(runtime.consume(arguments), runtime.given(), FLAG_NAMES)
        if not names and has_flags(command_line):
            settle(command_line)
        argparse_face.install(command_line, lambda frame: False)
        return command_line
    return CommandLine(arguments, {}, FLAG_NAMES)


def has_flags(command_line: CommandLine) -> bool:
    """Whether flags are left for the program."""
    return any(True for _ in flags_in(command_line.arguments))


def asks_for_help(command_line: CommandLine) -> bool:
    """Whether `--help` or `-h` is among a program's arguments."""
    return any(name in ("help", "h") for name, _ in flags_in(command_line.arguments))


def settle(command_line: CommandLine) -> None:
    """Checks the arguments of a program that reads none of them.

    Raises:
        MoxValueError: a flag is a misspelled flag of openmox.
    """
    command_line.tolerate(lambda name: False)
    command_line.check_unknown()


def _file_read(error: UnicodeDecodeError) -> str:
    """Returns the flag file that absl was reading; the error does not name it."""
    name, trace = "the file", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_locals.get("filename", name)
        trace = trace.tb_next
    return str(name)
