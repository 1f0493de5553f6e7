"""A training as UAI Train runs it: TF_CONFIG, the four flags, and what comes back."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from moxing.cluster.platforms import tf_config
from moxing.errors import MoxValueError, shown
from moxing.launch.gang import Limits
from moxing.launch.supervise import supervise
from moxing.launch.uai import Training, training

LIMITS = Limits(explain=1.0, stop=2.0, ps=2.0)
# Each process notes what it was given, as a file of the output folder.
PROGRAM = """
import json, os, sys
config = os.environ.get("TF_CONFIG")
flags = dict(f.lstrip("-").split("=", 1) for f in sys.argv[1:])
task = json.loads(config)["task"] if config else {"type": "alone", "index": 0}
path = os.path.join(flags["output_dir"], f"{task['type']}-{task['index']}.json")
json.dump({"config": config, "argv": sys.argv, "cwd": os.getcwd()}, open(path, "w"))
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "code" / "sub").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "code" / "train.py").write_text(PROGRAM)
    (tmp_path / "code" / "sub" / "train.py").write_text(PROGRAM)
    return tmp_path / "code"


def made(code: Path, command: str = "train.py --epochs=5", **given: Any) -> Training:
    folders = str(code), str(code.parent / "data"), str(code.parent / "a" / "output")
    return dataclasses.replace(training(command, *folders, **given), runner=(sys.executable,))


def ran(job: Training) -> dict[str, dict[str, Any]]:
    """What each process was given, by its role and index."""
    logs = job.output.parent / "logs"
    assert supervise(job, logs, 0, limits=LIMITS) == 0
    return {path.stem: json.loads(path.read_text()) for path in job.output.glob("*.json")}


def test_one_node_has_no_tf_config(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", "{}")  # Of the shell: it would describe another job.
    job = made(code)

    (given,) = ran(job).values()

    assert given["config"] is None
    assert given["cwd"] == str(code)
    assert given["argv"] == [
        str(code / "train.py"),
        "--epochs=5",
        f"--work_dir={code}",
        f"--data_dir={code.parent / 'data'}",
        f"--output_dir={code.parent / 'a' / 'output'}",
        "--num_gpus=0",
    ]


@pytest.mark.parametrize(
    ("nodes", "ps", "roles"),
    [
        (1, 1, {"master-0", "ps-0"}),
        (2, 0, {"master-0", "worker-0"}),
        (3, 2, {"master-0", "worker-0", "worker-1", "ps-0", "ps-1"}),
    ],
)
def test_several_nodes(code: Path, nodes: int, ps: int, roles: set[str]) -> None:
    found = ran(made(code, nodes=nodes, ps=ps, num_gpus=2))

    assert found.keys() == roles
    configs = {name: json.loads(given["config"]) for name, given in found.items()}
    cluster = configs["master-0"]["cluster"]
    assert all(config["cluster"] == cluster for config in configs.values())
    assert all(config["environment"] == "cloud" for config in configs.values())
    addresses = [address for hosts in cluster.values() for address in hosts]
    assert len(set(addresses)) == nodes + ps
    assert len(cluster["master"]) == 1
    assert all(given["argv"][-1] == "--num_gpus=2" for given in found.values())
    # And openmox itself reads these as one cluster with one chief.
    read = [tf_config.read({"TF_CONFIG": given["config"]}) for given in found.values()]
    assert all(one is not None and one.size == nodes and len(one.ps) == ps for one in read)
    assert sum(one is not None and one.is_chief for one in read) == 1


@pytest.mark.parametrize(
    ("command", "script", "arguments"),
    [
        ("train.py", "train.py", ()),
        ("/data/train.py --x='a b'", "train.py", ("--x=a b",)),
        ("python3 sub/train.py -v", "sub/train.py", ("-v",)),
        ("python /data/sub/train.py", "sub/train.py", ()),
    ],
)
def test_the_command_as_typed_into_the_platform(
    code: Path, command: str, script: str, arguments: tuple[str, ...]
) -> None:
    job = made(code, command)
    assert (job.script, job.arguments) == (code / script, arguments)


@pytest.mark.parametrize(
    ("command", "given", "message"),
    [
        ("train.py", {"nodes": 0}, "--nodes=0 is too few; it must be at least 1."),
        ("train.py", {"ps": -1}, "--ps=-1 is too few; it must be at least 0."),
        ("train.py", {"num_gpus": -1}, "--num_gpus=-1 is too few; it must be at least 0."),
        (
            "train.py --data_dir=/x",
            {},
            "--data_dir=/x in the command: the platform sets --data_dir itself.",
        ),
        (
            "bash run.sh",
            {},
            "The command 'bash run.sh' does not begin with a program, such as"
            ' "train.py --epochs=5".',
        ),
        ("", {}, "The command '' does not begin with a program, such as \"train.py --epochs=5\"."),
        ("train.py 'x", {}, "The command can't be read (No closing quotation): train.py 'x"),
        ("none.py", {}, "there is no file none.py in CODE; --code names its folder."),
        ("train.py", {"nodes": 256, "ps": 1}, "257 processes on one machine are too many; 256"),
        ("train.py", {"nodes": 10**30}, f"{10**30} processes on one machine are too many; 256"),
    ],
)
def test_mistakes(code: Path, command: str, given: dict[str, int], message: str) -> None:
    with pytest.raises(MoxValueError) as caught:
        made(code, command, **given)
    wanted = message.replace("CODE", str(code))
    assert str(caught.value) in (wanted, f"{wanted} is the most.")


def test_folders_that_are_not_there(code: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    long = "x" * 5000
    for folders, message in (
        ((long, ".", "out"), f"--code={shown(long)}: there is no such folder."),
        ((str(code), long, "out"), f"--data={shown(long)}: there is no such folder."),
        (
            (str(code), str(tmp_path), long),
            f"--output={shown(long)} can't be made: File name too long.",
        ),
        (("no", "no", "out"), "--code=no: there is no such folder."),
        ((str(code), "no", "out"), "--data=no: there is no such folder."),
        (
            (str(code), str(tmp_path), str(tmp_path / "file")),
            f"--output={tmp_path / 'file'} can't be made: File exists.",
        ),
    ):
        with pytest.raises(MoxValueError) as caught:
            training("train.py", *folders)
        assert str(caught.value) == message


def test_folders_that_are_none_of_this_machine(code: Path, tmp_path: Path) -> None:
    for folders, message in (
        (("", "d", "o"), "--code is empty; it names a folder."),
        ((str(code), "", "o"), "--data is empty; it names a folder."),
        ((str(code), str(tmp_path), ""), "--output is empty; it names a folder."),
        (
            (str(code), "s3://bucket/mnist", "o"),
            "--data=s3://bucket/mnist: the platform gives programs folders, so this must be one of"
            " this machine. The program itself may read and write such a URL.",
        ),
        (
            (str(code), str(tmp_path), "s3://bucket/o"),
            "--output=s3://bucket/o: the platform gives programs folders, so this must be one of"
            " this machine. The program itself may read and write such a URL.",
        ),
    ):
        with pytest.raises(MoxValueError) as caught:
            training("train.py", *folders)
        assert str(caught.value) == message
    assert not Path("s3:").exists()


def test_an_output_that_would_overwrite_what_is_read(code: Path, tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    for output, name in ((f"{code}/../data", "data"), (f"{code}/", "code")):
        with pytest.raises(MoxValueError) as caught:
            training("train.py", str(code), data, output)
        assert str(caught.value) == (
            f"--output={output} is the folder of --{name}, which the program would write into; name"
            " another."
        )
    # As on the platform, where it is within the folder of the code.
    assert training("train.py", str(code), data, f"{code}/output").output == code / "output"


def test_folders_that_this_user_may_not_use(
    code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may do all, so what the system says of a folder is replaced."""
    data, out = tmp_path / "data", tmp_path / "out"
    for denied, message in (
        (data, f"--data={data}: this user may not read that folder."),
        (out, f"--output={out}: nothing can be written to that folder."),
    ):
        monkeypatch.setattr("os.access", lambda path, _, denied=denied: path != denied)
        with pytest.raises(MoxValueError) as caught:
            training("train.py", str(code), str(data), str(out))
        assert str(caught.value) == message
