"""Runs programs for the current TensorFlow, which import `moxing.keras`, under `mox run`.

These programs are not written for TensorFlow 1.x and would not run with the v1 face. They get the
cluster, which `mox launch` passes as flags, in TF_CONFIG. openmox's flags are taken out of the
command line of those that import `moxing.keras`; the other arguments stay unchanged.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import types
from collections.abc import Sequence
from typing import Any

from moxing.errors import MoxValueError
from moxing.legacy.face import owned
from moxing.legacy.program import complaints, interrupts, own_flags
from moxing.legacy.sessions import quiet

_PACKAGE = "moxing.keras"
_FLAGS = ("job_name", "task_index", "worker_hosts", "ps_hosts")


def is_modern(code: types.CodeType) -> bool:
    """Whether a program's own text imports `moxing.keras`."""
    names = code.co_names
    if any(name == _PACKAGE or name.startswith(_PACKAGE + ".") for name in names):
        return True
    if "moxing" in names and "keras" in names and ("keras",) in code.co_consts:
        return True
    return any(is_modern(c) for c in code.co_consts if isinstance(c, types.CodeType))


def run(script: str, arguments: Sequence[str], module: str = "", takes_flags: bool = True) -> int:
    """Runs such a program in this process.

    Args:
        script: the path of the program.
        arguments: the rest of the command line.
        module: the name of the module, if the program is run as a module.
        takes_flags: whether the program imports openmox, so that openmox's flags concern it.

    Returns:
        The exit code: 0, 1 after an error, 130 after Ctrl-C, or the code of the error of a lost
            process.

    Raises:
        SystemExit: the program ended itself.
        MoxValueError: a flag of openmox has an invalid value or is misspelled; nothing was run.
    """
    folder = os.getcwd() if module else os.path.dirname(os.path.realpath(script))
    arguments = take_cluster(arguments)
    command_line = own_flags.take_from_modern(script, arguments) if takes_flags else None
    sys.argv = [script, *(command_line.arguments if command_line else arguments)]
    if sys.flags.safe_path or not sys.path:
        sys.path.insert(0, folder)
    else:
        sys.path[0] = folder
    quiet.before_tensorflow()
    quiet.at_import()
    try:
        if module:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            # As under plain Python, the path of the program in tracebacks is absolute.
            runpy.run_path(os.path.abspath(script), run_name="__main__")
    except Exception as error:
        return complaints.report(interrupts.behind(error), os.path.abspath(script), owned.owns)
    except KeyboardInterrupt as error:
        return complaints.report(error, script, lambda name: False)
    if command_line:
        command_line.remind()
    return 0


def take_cluster(arguments: Sequence[str], coordinated: bool = False) -> list[str]:
    """Converts the flags that describe a cluster to TF_CONFIG.

    Args:
        arguments: the program's command line.
        coordinated: whether one task gives the others their work. With parameter servers, the first
            worker then is the task "chief", which tf.distribute's coordinator must be.

    Returns:
        The other arguments.

    Raises:
        MoxValueError: there is only one worker, so that no worker is left beside the coordinator.
    """
    found: dict[str, str] = {}
    rest = []
    for argument in arguments:
        name, equals, value = argument.lstrip("-").partition("=")
        if argument.startswith("--") and equals and name in _FLAGS:
            found[name] = value
        else:
            rest.append(argument)
    if found.get("worker_hosts"):
        hosts = {"worker": found["worker_hosts"], "ps": found.get("ps_hosts", "")}
        cluster = {role: text.split(",") for role, text in hosts.items() if text}
        index = found.get("task_index", "0")
        task = {"type": found.get("job_name", "worker"), "index": int(index)}
        if coordinated and "ps" in cluster:
            _make_first_worker_chief(cluster, task)
        os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})
    return rest


def _make_first_worker_chief(cluster: dict[str, list[str]], task: dict[str, Any]) -> None:
    first, *others = cluster["worker"]
    if not others:
        raise MoxValueError(
            "ParameterServerStrategy needs a worker beside the process that coordinates the"
            " training, which is worker 0: start at least two workers, as in"
            " `mox launch --workers=2 --ps=1`."
        )
    cluster.update(chief=[first], worker=others)
    if task["type"] == "worker" and task["index"] == 0:
        task["type"] = "chief"
    elif task["type"] == "worker":
        task["index"] -= 1
