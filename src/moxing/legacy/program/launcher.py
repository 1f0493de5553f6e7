"""Runs a program written for TensorFlow 1.x, as `python script.py` would, with the v1 face."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import types
import warnings
from collections.abc import Collection, Iterator, Sequence

from moxing import native_noise, notices
from moxing.errors import MoxError, MoxValueError
from moxing.legacy.face import importer
from moxing.legacy.face import source as users_source
from moxing.legacy.flags import argparse_face
from moxing.legacy.flags.command_line import CommandLine
from moxing.legacy.keras import arrival
from moxing.legacy.plain import dialect
from moxing.legacy.plain.dialect import Dialect
from moxing.legacy.program import children, complaints, modern, modules, spawn, truth
from moxing.legacy.sessions import quiet

USAGE = 2
_V1_PROGRAM = Dialect()


def run(
    script: str, arguments: Sequence[str], as_module: bool = False, named: Collection[str] = ()
) -> int:
    """Runs a program in this process.

    Args:
        script: path of a Python file, or the dotted name of a module.
        arguments: the rest of the command line, the program's own flags and openmox's.
        as_module: whether it is a module: it belongs to its package, and the current folder is
            searched for modules instead of its own.
        named: installed packages that see what the program sees.

    Returns:
        The exit code: 0, 1 after an error, 2 if it could not start, 130 after Ctrl-C.

    Raises:
        SystemExit: the program ended itself.
    """
    try:
        # Before TensorFlow, which takes seconds to import.
        spec = modules.find(script) if as_module else None
        script = str(spec.origin) if spec else script
        code = read_program(script)
        found = dialect.of(script)
        if _is_current(code, found):
            if found.bare and found.keras == 3:
                complaints.say(f"{arrival.told(found)}.")
            return modern.run(script, arguments, spec.name if spec else "")
        if found.eager:
            # The real strategies of tf.distribute look there.
            arguments = modern.take_cluster(arguments)
        if found.keras == 2 or not found.eager:
            # So that tf.keras and tf.layers are those of TensorFlow 1.x; read as it is imported.
            os.environ["TF_USE_LEGACY_KERAS"] = "1"
        quiet.before_tensorflow()
        command_line = take_runtime_flags(arguments)
    except SyntaxError as error:
        complaints.say(f"error: {complaints.about_syntax(error)}")
        return complaints.FAILED
    except MoxError as error:
        complaints.say(f"error: {error}")
        return USAGE
    except KeyboardInterrupt:
        complaints.say("interrupted")
        return complaints.INTERRUPTED
    if told := arrival.told(found):
        complaints.say(f"{told}.")
    sys.argv = [script, *command_line.arguments]
    _put_first_on_path(os.getcwd() if spec else os.path.dirname(os.path.realpath(script)))
    users = show_v1_face(command_line, found, named)
    try:
        with _quiet():
            _execute(code, users, spec)
    except Exception as error:
        # What was ignored may be why it failed.
        command_line.warn_unknown()
        return complaints.report(error, code.co_filename, users.owns)
    except KeyboardInterrupt as error:
        return complaints.report(error, code.co_filename, users.owns)
    except SystemExit as error:
        sys.last_value = error  # As for other errors: what runs at exit looks here.
        raise
    finally:
        command_line.warn_unknown()
    return 0


def read_program(script: str) -> types.CodeType:
    """Compiles a program.

    Raises:
        MoxValueError: there is no such file, or it is no Python file that can be read.
        SyntaxError: it is neither Python 3 nor Python 2.
    """
    if not script:
        raise MoxValueError("the name of the script is empty: mox run SCRIPT.py [flags]")
    if os.path.isdir(script):
        raise MoxValueError(f"{script} is a directory; name the script in it.")
    if not os.path.exists(script):
        raise MoxValueError(f"there is no file {script} in {os.getcwd()}.")
    if not script.endswith(".py"):
        raise MoxValueError(f"{script} is not a Python program: its name does not end in .py.")
    if not os.path.isfile(script):
        # Opening a pipe would wait for who writes to it.
        raise MoxValueError(f"{script} is not a regular file.")
    try:
        with io.open_code(os.path.abspath(script)) as file:
            source = file.read()
    except OSError as error:
        raise MoxValueError(f"cannot read {script}: {error.strerror}.") from error
    if b"\0" in source:
        raise MoxValueError(
            f"{script} is not a Python program: it holds NUL bytes, as damaged files and text in"
            " UTF-16 do."
        )
    try:
        path = os.path.abspath(script)
        changed = users_source.compiled(source, path)
        return changed or compile(source, path, "exec", dont_inherit=True)
    except (ValueError, MemoryError, RecursionError) as error:
        reason = str(error) or "an expression in it is too large or nested too deeply"
        raise MoxValueError(f"{script} cannot be compiled: {reason}.") from error


def take_runtime_flags(arguments: Sequence[str], quiet: bool = False) -> CommandLine:
    """Gives openmox its flags; what is left of the command line is the program's.

    Args:
        arguments: the command line without the script.
        quiet: warn of nothing that the program does with the rest.

    Raises:
        MoxError: a value that a runtime flag cannot have, or a flag file that cannot be read.
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


def _file_read(error: UnicodeDecodeError) -> str:
    """Name of the flag file that absl was reading; one may name another, and the error none."""
    name, trace = "the file", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_locals.get("filename", name)
        trace = trace.tb_next
    return str(name)


def _put_first_on_path(folder: str) -> None:
    # What stands first is the folder of `mox` itself, or the current one with `python -m`.
    if sys.flags.safe_path or not sys.path:
        sys.path.insert(0, folder)
    else:
        sys.path[0] = folder


def _is_current(code: types.CodeType, found: Dialect) -> bool:
    """Whether a program is to run as plain Python would run it."""
    if modern.is_modern(code):
        return found.keras == 3 or not found.why
    return dialect.is_plain_keras_3(found)


def show_v1_face(
    command_line: CommandLine, found: Dialect = _V1_PROGRAM, named: Collection[str] = ()
) -> importer.UserCode:
    """Changes this process so that the user's modules see TensorFlow as of their time.

    Args:
        command_line: the program's.
        found: what TensorFlow and Keras it is written for.
        named: installed packages that see it too.

    Returns:
        What belongs to the program.
    """
    with native_noise.dropped():
        import tensorflow.compat.v1 as tf

        from moxing.legacy.face import catalog, marks
        from moxing.legacy.sessions import old_graphs

    marks.leave_out()
    quiet.install()
    old_graphs.install()
    with _quiet():
        if not found.eager:
            tf.disable_v2_behavior()
            truth.install()
    # Says so when the program hands a URL to Python's own functions.
    importlib.import_module("moxing.framework.file")
    users = importer.install(catalog.make_faces(command_line, dialect=found), named)
    argparse_face.install(command_line, users.is_user_frame)
    spawn.install(command_line, found, named)
    children.install(users.owns, named)
    notices.before_first_run(command_line.warn_unknown)
    # Of Python 2; "as many steps as there is data" in many programs.
    sys.maxint = sys.maxsize  # type: ignore[attr-defined]
    return users


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the news that TensorFlow 1.x is deprecated, on which its programs cannot act."""
    from tensorflow.python.util import deprecation

    with deprecation.silence(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is deprecated and will be removed", UserWarning)
        warnings.filterwarnings("ignore", ".*This property should not be used in", UserWarning)
        yield


def _execute(
    code: types.CodeType, users: importer.UserCode, spec: modules.Spec | None = None
) -> None:
    path = code.co_filename
    main = users.prepare(types.ModuleType("__main__"))
    main.__dict__.update(
        __file__=path,
        __cached__=None,
        __package__=spec.parent if spec else None,
        __spec__=spec,
        __loader__=importer.MainLoader("__main__", path),
    )
    sys.modules["__main__"] = main
    if spec and spec.parent:
        importlib.import_module(spec.parent)
    exec(code, main.__dict__)
