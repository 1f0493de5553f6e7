"""Runs a program written for TensorFlow 1.x with the v1 face, like `python script.py`."""

from __future__ import annotations

import importlib
import os
import sys
import types
from collections.abc import Collection, Sequence

from moxing import leaving, signals
from moxing.errors import MoxError
from moxing.legacy.face import importer
from moxing.legacy.flags import strict_parsers
from moxing.legacy.keras import arrival
from moxing.legacy.plain import dialect, flagless
from moxing.legacy.plain.dialect import Dialect
from moxing.legacy.program import (
    complaints,
    interrupts,
    modern,
    modules,
    own_flags,
    reading,
    spawn,
    v1_face,
)
from moxing.legacy.sessions import quiet

USAGE = 2


@interrupts.second_ends()
def run(
    script: str, arguments: Sequence[str], as_module: bool = False, named: Collection[str] = ()
) -> int:
    """Runs a program in this process.

    Args:
        script: the path of a Python file, or the dotted name of a module.
        arguments: the rest of the command line, with the program's own flags and openmox's.
        as_module: whether `script` is a module name. A module belongs to its package, and the
            current folder, instead of the module's own, is searched for modules.
        named: installed packages that see the same modules as the program.

    Returns:
        The exit code: 0, 1 after an error, 2 if it could not start, 130 after Ctrl-C.

    Raises:
        SystemExit: the program ended itself.
    """
    leaving.install()
    signals.print_stacks_on_request()
    strict_parsers.install()
    try:
        # Read the program before the import of TensorFlow, which takes seconds.
        spec = modules.find(script) if as_module else None
        script = str(spec.origin) if spec else script
        code = reading.read_program(script)
        found = dialect.of(script)
        if _is_current(code, found):
            if found.bare and found.keras == 3:
                complaints.say(f"{arrival.told(found)}.")
            name = spec.name if spec else ""
            return modern.run(script, arguments, name, modern.is_modern(code))
        if found.eager:
            # The real strategies of tf.distribute read TF_CONFIG.
            arguments = modern.take_cluster(arguments, found.coordinated)
        if found.keras == 2 or not found.eager:
            # TensorFlow reads this at its import; it selects the tf.keras and tf.layers of 1.x.
            os.environ["TF_USE_LEGACY_KERAS"] = "1"
        quiet.before_tensorflow()
        command_line = own_flags.take_runtime_flags(arguments)
        own_flags.withhold_cluster(command_line, found)
        if own_flags.has_flags(command_line) and flagless.is_flagless(script):
            if own_flags.asks_for_help(command_line):
                complaints.say(f"{script} reads no flags; `mox run --help` lists those of openmox.")
                return 0
            own_flags.settle(command_line)
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
    users = v1_face.show_v1_face(command_line, found, named)
    spawn.install(command_line, found, named)
    try:
        with v1_face.quiet_about_version():
            _execute(code, users, spec)
        command_line.remind()
    except Exception as error:
        # An ignored flag may be the cause of the error.
        command_line.warn_unknown()
        return complaints.report(interrupts.behind(error), code.co_filename, users.owns)
    except KeyboardInterrupt as error:
        return complaints.report(error, code.co_filename, users.owns)
    except SystemExit as error:
        sys.last_value = error  # Exit handlers look here, as for other errors.
        if not error.code:
            command_line.remind()
        raise
    finally:
        command_line.warn_unknown()
        _say_unread()
    return 0


def _say_unread() -> None:
    from moxing.flags import rehearsal

    if rehearsal.unread():
        complaints.say(
            "warning: --dry_run is for mox.run, Estimators and moxing.keras.fit, which this program"
            " did not call: openmox shortened none of its steps."
        )


def _put_first_on_path(folder: str) -> None:
    # The first entry is the folder of `mox` itself, or the current folder with `python -m`.
    if sys.flags.safe_path or not sys.path:
        sys.path.insert(0, folder)
    else:
        sys.path[0] = folder


def _is_current(code: types.CodeType, found: Dialect) -> bool:
    """Whether to run a program like plain Python, without the v1 face."""
    if modern.is_modern(code):
        return found.keras == 3 or not found.why
    return dialect.is_plain_keras_3(found)


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
