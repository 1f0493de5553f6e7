"""`mox run SCRIPT [flags]`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from moxing.errors import MoxError
from moxing.flags.recording import LOG_ALSO, LOGGERS
from moxing.flags.saving import KEEP_BEST
from moxing.flags.table import get_help

# Options that set an environment variable, which programs started by plain `python` read too.
_VARIABLES = {"--log-also": LOG_ALSO, "--loggers": LOGGERS, "--keep-best": KEEP_BEST}
_OPTIONS = ("--face", "--config", *_VARIABLES)
_HELP = """\
usage: mox run [options] SCRIPT.py [flags]
       mox run [options] -m PACKAGE.MODULE [flags]

Runs a program as `python SCRIPT.py` or `python -m PACKAGE.MODULE` would, with TensorFlow 1.x as its
own modules know it. Flags after SCRIPT.py are the program's own and openmox's, in any order;
`mox run SCRIPT.py --help` shows the program's. MOX_DEBUG=1 in the environment shows the traceback
of every error.

  --face=PACKAGE   an installed package that is written for TensorFlow 1.x too; may be repeated
  --config=FILE    flags, as YAML or JSON; those of the command line come after them, and win.
                   The file may name the program (`program: train.py`); a run.json repeats a run
  --log-also=NAMES log lines of training show learning_rate, gradient_norm, or both, with a comma
  --keep-best=NAME trainings also keep the checkpoint with the best value of a metric of their
                   evaluations, in log_dir/best; NAME:max or NAME:min, and :N for the N best
  --loggers=NAMES  trainings report to wandb, mlflow, or both, which you have installed

flags of openmox:
"""


def main(arguments: Sequence[str]) -> int:
    """Runs a program.

    Args:
        arguments: the script and its flags.

    Returns:
        The exit code of the program, or 2 if it could not start.
    """
    options, rest = _options(list(arguments))
    for name, variable in _VARIABLES.items():
        if options[name]:
            os.environ[variable] = ",".join(options[name])
    named = [name for names in options["--face"] for name in names.split(",")]
    try:
        rest = _configured(options["--config"], rest)
    except MoxError as error:
        print(f"mox: error: {error}", file=sys.stderr)
        return 2
    as_module = rest[:1] == ["-m"]
    rest = rest[as_module:]
    if not rest or "" in named:
        want = "module: mox run -m PACKAGE.MODULE" if as_module else "script: mox run SCRIPT.py"
        want = "package: mox run --face=PACKAGE SCRIPT.py" if "" in named else want
        print(
            f"mox: error: name the {want} [flags]{_unnamed(options['--config'])}", file=sys.stderr
        )
        return 2
    script, *rest = rest
    if script in ("-h", "--help"):
        print(_HELP + "\n".join(f"  {line}" for line in get_help().splitlines()))
        return 0
    if script.startswith("-"):
        print(
            f"mox: error: {script} stands before the script: mox run SCRIPT.py {script} ...",
            file=sys.stderr,
        )
        return 2
    from moxing.legacy.program import launcher

    return launcher.run(script, rest, as_module, named)


def _options(arguments: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Returns the values of the options before the script, by name, and the other arguments."""
    found: dict[str, list[str]] = {name: [] for name in _OPTIONS}
    while arguments and (name := arguments[0].partition("=")[0]) in found:
        _, equals, value = arguments.pop(0).partition("=")
        if not equals and arguments:
            value = arguments.pop(0)
        found[name].append(value)
    return found, arguments


def _configured(files: Sequence[str], rest: list[str]) -> list[str]:
    """Returns the command line with the files' flags between the program and all other flags."""
    if not files:
        return rest
    from moxing.flags import config_file, origins

    configs = [config_file.read(path) for path in files]
    flags = [word for config in configs for word in config.arguments]
    origins.forget()
    for path, config in zip(files, configs, strict=True):
        origins.note(path, config.arguments)
        if missing := [name for name in config.left_out if not _has(name, rest)]:
            print(
                f"mox: warning: {path} leaves out {', '.join(missing)}: give them on the command"
                " line.",
                file=sys.stderr,
            )
    if rest[:1] == ["-m"]:
        return [*rest[:2], *flags, *rest[2:]]
    if rest and not rest[0].startswith("-"):
        return [rest[0], *flags, *rest[1:]]
    # The last file that names a program wins.
    program = next((config for config in reversed(configs) if config.program), None)
    if program is None:
        return rest
    return [*(["-m"] if program.as_module else []), program.program, *flags, *rest]


def _unnamed(files: Sequence[str]) -> str:
    """Returns a sentence about files of flags that name no program."""
    if not files:
        return ""
    from moxing.errors import near_matches
    from moxing.flags import origins

    meant = [name for name in origins.names() if near_matches(name, ["program"])]
    hint = f" Did you mean program where you wrote {meant[0]}?" if meant else ""
    return f". {', '.join(files)} may name it too, as `program: train.py`.{hint}"


def _has(name: str, arguments: Sequence[str]) -> bool:
    return any(word.partition("=")[0] == name for word in arguments)
