"""Starts a job as UAI Train does: TF_CONFIG in each process, four flags after the command."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from moxing.errors import MoxValueError, near_files, shown
from moxing.launch import gpus
from moxing.launch.plan import HOST, check_count, environment
from moxing.launch.ports import free_ports
from moxing.launch.start import Start

_FLAGS = ("work_dir", "data_dir", "output_dir", "num_gpus")
_IMAGE_CODE = PurePosixPath("/data")  # The folder of the code in the platform's containers.
_PYTHONS = ("python", "python3")
_CONFIG = "TF_CONFIG"


@dataclass(frozen=True)
class Training:
    """A training as the platform runs it, on this machine.

    Attributes:
        script: path of the program within the code.
        arguments: the program's own flags.
        code, data, output: the folders, absolute.
        nodes: the number of processes that train; the first is the master.
        ps: the number of parameter servers beside them.
        num_gpus: GPUs of each node.
        runner: the command before the script's path.
    """

    script: Path
    arguments: tuple[str, ...]
    code: Path
    data: Path
    output: Path
    nodes: int = 1
    ps: int = 0
    num_gpus: int = 0
    runner: tuple[str, ...] = (sys.executable, "-m", "moxing", "run")

    @property
    def title(self) -> str:
        return "mox uai"

    @property
    def over_ssh(self) -> bool:
        return False

    @property
    def command(self) -> list[str]:
        """The command of each process, without its TF_CONFIG."""
        values = (self.code, self.data, self.output, self.num_gpus)
        flags = [f"--{name}={value}" for name, value in zip(_FLAGS, values, strict=True)]
        return [*self.runner, str(self.script), *self.arguments, *flags]

    def starts(self, environ: Mapping[str, str]) -> dict[str, Start]:
        """Returns how to start each process, on ports that are free now."""
        shared = environment(environ)
        shared.pop(_CONFIG, None)
        shares = gpus.shares(self.nodes, self.num_gpus, shared)
        if self.nodes + self.ps == 1:
            return {"master 0": Start(self.command, {**shared, **shares[0]}, self.code)}
        shares += [gpus.hidden(shared)] * self.ps
        cluster = _cluster(self.nodes, self.ps)
        tasks = [(role, index) for role, hosts in cluster.items() for index in range(len(hosts))]
        return {
            f"{role} {index}": Start(
                self.command,
                {**shared, **share, _CONFIG: _config(cluster, role, index)},
                self.code,
            )
            for (role, index), share in zip(tasks, shares, strict=True)
        }


def training(
    command: str,
    code: str,
    data: str,
    output: str,
    nodes: int = 1,
    ps: int = 0,
    num_gpus: int = 0,
) -> Training:
    """Makes a training from the user's arguments, and its output folder.

    Args:
        command: as typed into the platform: `script.py [flags]`; `python` before it, and `/data/`
            for the code's folder, may be there.
        code, data, output: folders.
        nodes, ps, num_gpus: as in `Training`.

    Raises:
        MoxValueError: a folder, script or number is not valid.
    """
    for name, value, least in (("nodes", nodes, 1), ("ps", ps, 0), ("num_gpus", num_gpus, 0)):
        if value < least:
            raise MoxValueError(f"--{name}={shown(value)} is too few; it must be at least {least}.")
    check_count(nodes + ps)
    script, *arguments = _words(command)
    for argument in arguments:
        name = argument.lstrip("-").partition("=")[0]
        if argument.startswith("-") and name in _FLAGS:
            raise MoxValueError(f"{argument} in the command: the platform sets --{name} itself.")
    root, found = _read("code", code), _read("data", data)
    path = _script(script, root)
    target = _written("output", output)
    for name, other in (("code", root), ("data", found)):
        if target == other:
            raise MoxValueError(
                f"--output={output} is the folder of --{name}, which the program would write into;"
                " name another."
            )
    return Training(path, tuple(arguments), root, found, target, nodes, ps, num_gpus)


def _read(name: str, folder: str) -> Path:
    path = _local(name, folder)
    if not os.path.isdir(path):  # Path.is_dir fails where a name is too long.
        raise MoxValueError(f"--{name}={shown(folder, plain=True)}: there is no such folder.")
    if not os.access(path, os.R_OK | os.X_OK):
        raise MoxValueError(f"--{name}={folder}: this user may not read that folder.")
    return path.resolve()


def _written(name: str, folder: str) -> Path:
    path = _local(name, folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # A ValueError: the name has a character of code 0.
        reason = error.strerror if isinstance(error, OSError) else error
        where = shown(folder, plain=True)
        raise MoxValueError(f"--{name}={where} can't be made: {reason}.") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise MoxValueError(f"--{name}={folder}: nothing can be written to that folder.")
    return path.resolve()


def _local(name: str, folder: str) -> Path:
    if not folder:
        raise MoxValueError(f"--{name} is empty; it names a folder.")
    if re.match(r"[a-z0-9]+://", folder):
        raise MoxValueError(
            f"--{name}={folder}: the platform gives programs folders, so this must be one of this"
            " machine. The program itself may read and write such a URL."
        )
    return Path(folder)


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        given = shown(command, plain=True)
        raise MoxValueError(f"The command can't be read ({error}): {given}") from error
    if words and words[0] in _PYTHONS:
        del words[0]
    if not words or not words[0].endswith(".py"):
        raise MoxValueError(
            f"The command {shown(command)} does not begin with a program, such as"
            ' "train.py --epochs=5".'
        )
    return words


def _script(name: str, code: Path) -> Path:
    inside = PurePosixPath(name)
    if inside.is_relative_to(_IMAGE_CODE) and not os.path.isfile(name):
        inside = inside.relative_to(_IMAGE_CODE)
    path = code / inside
    if not os.path.isfile(path):
        raise MoxValueError(
            f"there is no file {shown(str(inside), plain=True)} in {code}; --code names its"
            f" folder.{near_files(str(path))}"
        )
    return path


def _cluster(nodes: int, ps: int) -> dict[str, list[str]]:
    addresses = [f"{HOST}:{port}" for port in free_ports(nodes + ps)]
    roles = {"master": addresses[:1], "worker": addresses[1:nodes], "ps": addresses[nodes:]}
    return {role: hosts for role, hosts in roles.items() if hosts}


def _config(cluster: Mapping[str, list[str]], role: str, index: int) -> str:
    task = {"type": role, "index": index}
    return json.dumps({"cluster": cluster, "task": task, "environment": "cloud"})
