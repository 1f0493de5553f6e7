"""Files of flags, and records of runs as such files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from moxing.errors import MoxValueError
from moxing.flags import config_file


def _read(tmp_path: Path, text: str, name: str = "run.yaml") -> config_file.Config:
    (tmp_path / name).write_text(text)
    return config_file.read(str(tmp_path / name))


def test_a_mapping_becomes_flags(tmp_path: Path) -> None:
    config = _read(
        tmp_path,
        """\
program: dir/train.py
num_gpus: 4
learning_rate: 1.0e-3
use_fp16: true
cache: false
layers: [64, 32, true]
note: "a b=c"
--dashes: 1
nothing:
""",
    )

    assert (config.program, config.as_module) == ("dir/train.py", False)
    assert config.arguments == (
        *("--num_gpus=4", "--learning_rate=0.001", "--use_fp16", "--cache=false"),
        *("--layers=64,32,true", "--note=a b=c", "--dashes=1"),
    )


@pytest.mark.parametrize("name", ["run.yaml", "run.json"])
def test_json_is_read_too(tmp_path: Path, name: str) -> None:
    assert _read(tmp_path, '{"seed": 7}', name).arguments == ("--seed=7",)


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    assert _read(tmp_path, "# later\n") == config_file.Config()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a\n- b\n", "is no mapping of flags"),
        ("a: {b: 1}\n", "the value of a"),
        ("a: [[1]]\n", "the value of a"),
        ("3: 1\n", "3 is no name of a flag"),
        ("a b: 1\n", "'a b' is no name of a flag"),
        ("a: [1\n", "line 2: expected"),
        ("a: !!python/object:os.system x\n", "could not determine a constructor"),
        ("a: !!timestamp x\n", "a value is not of the type of its tag"),
        ("a: !!bool x\n", "a value is not of the type of its tag"),
        ('a: !!int ""\n', "a value is not of the type of its tag"),
        (f"a: 0x{'f' * 5_000}\n", "the value of a"),
        (f"a: [1, 0x{'f' * 5_000}]\n", "the value of a"),
        ("program: [a]\n", "program must be the path"),
        ("a: 1\n" * 300_000, "has more than"),
        ("{" * 5_000, "run.yaml"),
    ],
)
def test_other_contents(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(MoxValueError, match=words):
        _read(tmp_path, text)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MoxValueError, match="No such file"):
        config_file.read(str(tmp_path / "no.yaml"))


def _facts(**program: Any) -> str:
    return json.dumps(
        {
            "format": 1,
            "job": {},
            "flags": {"--seed": 7, "--use_fp16": True, "--job_name": "worker", "--task_index": 1},
            "environment": {},
            "outcome": {},
            "program": program,
        }
    )


def test_a_record_repeats_its_run(tmp_path: Path) -> None:
    text = _facts(script="/a/train.py", arguments=["--steps", "5"], left_out=["--db_password"])

    config = _read(tmp_path, text, "run.json")

    assert (config.program, config.as_module) == ("/a/train.py", False)
    assert config.arguments == ("--steps", "5", "--seed=7", "--use_fp16")
    assert config.left_out == ("--db_password",)


def test_a_record_of_a_module(tmp_path: Path) -> None:
    config = _read(tmp_path, _facts(module="trainer.task", arguments=[]), "run.json")

    assert (config.program, config.as_module) == ("trainer.task", True)


@pytest.mark.parametrize("program", [{}, {"script": 3, "arguments": []}, {"script": "a"}])
def test_a_record_without_a_program(tmp_path: Path, program: dict[str, Any]) -> None:
    if program == {"script": "a"}:
        assert _read(tmp_path, _facts(**program), "run.json").program == "a"
        return
    with pytest.raises(MoxValueError, match="run.json"):
        _read(tmp_path, _facts(**program), "run.json")
