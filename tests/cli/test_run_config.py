"""`mox run --config=FILE`: flags from files, and runs that are repeated."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from moxing.cli import run
from moxing.legacy.program import launcher

PROGRAM = """
import moxing.tensorflow as mox
import numpy as np
import tensorflow as tf

tf.flags.DEFINE_float("rate", 0.5, "")
tf.flags.DEFINE_boolean("odd", False, "")
tf.flags.DEFINE_string("train_url", None, "")
flags = tf.flags.FLAGS


def input_fn(mode):
    return tf.data.Dataset.from_tensors(np.ones([2, 3], np.float32)).repeat()


def model_fn(inputs, mode):
    loss = tf.reduce_mean(tf.square(tf.layers.dense(inputs[0], 1)))
    return mox.ModelSpec(loss=loss, log_info={"loss": loss})


print("rate", flags.rate, "odd", flags.odd, "seed", mox.get_flag("seed"))
mox.run(input_fn=input_fn, model_fn=model_fn, optimizer_fn=mox.get_optimizer_fn("sgd", flags.rate),
        run_mode=mox.ModeKeys.TRAIN, log_dir=flags.train_url, max_number_of_steps=2)
"""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """The arguments of the launcher's calls, which start nothing."""
    calls: list[tuple[object, ...]] = []
    monkeypatch.setattr(launcher, "run", lambda *arguments: calls.append(arguments) or 0)
    return calls


def test_the_command_line_comes_last_and_wins(
    tmp_path: Path, started: list[tuple[object, ...]]
) -> None:
    (tmp_path / "a.yaml").write_text("program: train.py\nseed: 1\nx: 2\n")
    (tmp_path / "b.yaml").write_text("x: 3\n")
    one, two = f"--config={tmp_path}/a.yaml", str(tmp_path / "b.yaml")

    assert run.main([one, "--config", two, "--face=p,q", "other.py", "--x=4"]) == 0
    assert run.main([one, "--x=4"]) == 0
    assert run.main([one, "-m", "pack.age", "--x=4"]) == 0

    flags = ["--seed=1", "--x=2"]
    assert started == [
        ("other.py", [*flags, "--x=3", "--x=4"], False, ["p", "q"]),
        ("train.py", [*flags, "--x=4"], False, []),
        ("pack.age", [*flags, "--x=4"], True, []),
    ]


def test_a_file_without_a_program_needs_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text("seed: 1\n")

    assert run.main([f"--config={tmp_path}/a.yaml"]) == 2
    assert "name the script" in capsys.readouterr().err


def test_a_bad_file_starts_nothing(
    capsys: pytest.CaptureFixture[str], started: list[tuple[object, ...]]
) -> None:
    assert run.main(["--config=nowhere.yaml", "train.py"]) == 2
    assert capsys.readouterr().err.startswith("mox: error: --config=nowhere.yaml")
    assert not started


def test_secrets_that_a_record_leaves_out_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], started: list[tuple[object, ...]]
) -> None:
    program = {"script": "train.py", "arguments": [], "left_out": ["--token"]}
    facts = {"job": {}, "flags": {}, "outcome": {}, "program": program}
    (tmp_path / "run.json").write_text(json.dumps(facts))

    run.main([f"--config={tmp_path}/run.json"])
    assert "leaves out --token" in capsys.readouterr().err
    run.main([f"--config={tmp_path}/run.json", "--token=x"])
    assert capsys.readouterr().err == ""
    assert [call[1] for call in started] == [[], ["--token=x"]]


@pytest.mark.parametrize("field", ["arguments", "left_out"])
@pytest.mark.parametrize("value", [None, 7, True, "text", {"a": 1}, [7], [None]], ids=repr)
def test_a_record_with_another_value_than_a_list_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], field: str, value: object
) -> None:
    program = {"script": "train.py", "arguments": [], field: value}
    facts = {"job": {}, "flags": {}, "outcome": {}, "program": program}
    (tmp_path / "run.json").write_text(json.dumps(facts))
    assert run.main([f"--config={tmp_path}/run.json"]) == 2
    assert "the record of the program can't be read" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_is_repeated_from_its_record(tmp_path: Path) -> None:
    import sys

    import warm

    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "run.yaml").write_text("program: train.py\nrate: 0.25\nodd: true\nseed: 7\n")

    def mox(*arguments: str) -> str:
        done = warm.run(
            [sys.executable, "-m", "moxing", "run", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    assert mox("--config=run.yaml", "--train_url=one") == "rate 0.25 odd True seed 7\n"
    again = mox("--config=one/run.json", "--train_url=two")

    assert again == "rate 0.25 odd True seed 7\n"
    last = [
        json.loads((tmp_path / name / "metrics.jsonl").read_text().splitlines()[0])
        for name in ("one", "two")
    ]
    assert last[0]["values"] == last[1]["values"]


def test_values_to_log_also_are_in_the_environment(
    started: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOX_LOG_ALSO", "gradient_norm")
    assert run.main(["--log-also=learning_rate", "--log-also", "gradient_norm", "a.py"]) == 0
    assert os.environ["MOX_LOG_ALSO"] == "learning_rate,gradient_norm"
    assert started == [("a.py", [], False, [])]


def test_the_metric_of_the_best_checkpoint_is_in_the_environment(
    started: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOX_KEEP_BEST", "loss")
    assert run.main(["--keep-best=accuracy:max:3", "a.py"]) == 0
    assert os.environ["MOX_KEEP_BEST"] == "accuracy:max:3"
    assert started == [("a.py", [], False, [])]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: 1\nb: [8\n", "line 3: expected ',' or ']', but got '<stream end>' while parsing a"),
        ("a: 1\n\tb: 2\n", "line 2: found character '\\t' that cannot start any token"),
        ("a: b: c\n", "line 1: mapping values are not allowed here."),
    ],
)
def test_a_file_that_is_no_yaml_names_the_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, fault: str
) -> None:
    (tmp_path / "a.yaml").write_text(text)

    assert run.main([f"--config={tmp_path}/a.yaml"]) == 2

    told = capsys.readouterr().err
    assert fault in told
    assert "unicode string" not in told


@pytest.mark.parametrize(
    ("defined", "given", "told"),
    [
        ("steps", "stepz: 5", "a.yaml: there is no flag for the key stepz. Did you mean steps?"),
        ("steps", "num_gpu: 5", "a.yaml: there is no flag for the key num_gpu. Did you mean num_g"),
        ("steps", "steps: x", "a.yaml: flag --steps=x: expected an integer, got 'x'."),
        ("steps", "steps: yes", "a.yaml: flag --steps needs a value: --steps=VALUE. In "),
    ],
)
def test_a_mistake_in_a_file_names_the_file_and_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, defined: str, given: str, told: str
) -> None:
    from absl import flags as absl_flags

    from moxing.errors import MoxValueError
    from moxing.flags import origins
    from moxing.legacy.flags.command_line import CommandLine
    from moxing.legacy.flags.tolerant_flags import TolerantFlags

    def started(script: str, arguments: list[str], as_module: bool, named: list[str]) -> int:
        monkeypatch.setattr("sys.argv", [script, *arguments])
        line = CommandLine(arguments, {}, ("num_gpus",))
        values = TolerantFlags(line, absl_flags.FlagValues())
        absl_flags.DEFINE_integer(defined, 1, "", flag_values=values)
        values(["train.py", *arguments])
        line.check_unknown()
        return 0

    monkeypatch.setattr(launcher, "run", started)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text(given)
    with pytest.raises(MoxValueError) as error:
        run.main(["--config=a.yaml", "train.py"])
    origins.forget()

    assert str(error.value).startswith(told)


def test_a_key_like_program_is_pointed_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text("programm: train.py\n")

    assert run.main([f"--config={tmp_path}/a.yaml"]) == 2

    assert "Did you mean program where you wrote programm?" in capsys.readouterr().err
