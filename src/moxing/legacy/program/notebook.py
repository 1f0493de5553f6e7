"""`%load_ext moxing`: shows TensorFlow 1.x to notebook cells, and to programs run by `%run`."""

from __future__ import annotations

import builtins
import os
import sys
import types
import warnings
from typing import Any

from moxing.errors import MoxRuntimeError
from moxing.legacy.program import own_flags, session_errors, spawn, tracebacks, v1_face
from moxing.legacy.sessions import quiet


def load(shell: Any) -> None:
    """Shows the v1 face to the user's code in IPython's shell, from the next statement on.

    Raises:
        MoxRuntimeError: TensorFlow is already imported, as TensorFlow 2.x.
    """
    if getattr(shell, "mox_users", None) is not None:
        return
    if "tensorflow" in sys.modules:
        raise MoxRuntimeError(
            "TensorFlow is imported already, as TensorFlow 2.x. Restart the kernel and make"
            " %load_ext moxing the first line that runs."
        )
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    quiet.before_tensorflow()
    command_line = own_flags.take_runtime_flags([])
    users = v1_face.show_v1_face(command_line)
    spawn.install(command_line, v1_face.V1_PROGRAM, ())
    # Cells can't act on these warnings, which programs under `mox run` don't see either.
    warnings.filterwarnings("ignore", ".*is deprecated and will be removed", UserWarning)
    warnings.filterwarnings("ignore", ".*This property should not be used in", UserWarning)
    new_main_module = shell.new_main_mod

    def new_main_mod(*arguments: Any, **named: Any) -> types.ModuleType:
        # IPython has put the arguments of %run into sys.argv.
        sys.argv[1:] = own_flags.take_runtime_flags(sys.argv[1:]).arguments
        module = new_main_module(*arguments, **named)
        module.__dict__["__builtins__"] = users.builtins
        return module

    # This import brings TensorFlow.
    from moxing.engine.reporting import cell_errors

    def before_each_cell(*_: Any) -> None:
        # `get_ipython` and `display` change with the cell; %run restores the old values.
        for name in ("get_ipython", "display"):
            if name in builtins.__dict__:
                users.builtins.__dict__[name] = builtins.__dict__[name]
        shell.user_module.__dict__["__builtins__"] = users.builtins

    shows = shell.showtraceback

    def show_traceback(*arguments: Any, **named: Any) -> None:
        error = sys.exc_info()[1]
        if isinstance(error, Exception):
            if said := session_errors.note(error):
                error.add_note(said)
            if isinstance(error, ImportError):
                tracebacks.trim(error, "")
            cell_errors.folds(error)
        shows(*arguments, **named)

    shell.showtraceback = show_traceback
    shell.new_main_mod = new_main_mod
    shell.events.register("pre_run_cell", before_each_cell)
    before_each_cell()
    shell.mox_users = users
