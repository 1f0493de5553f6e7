"""`mox launch`: what it refuses, and that it passes on what it was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from moxing.cli import launch
from moxing.launch import supervise as supervising
from moxing.launch.gang import Limits
from moxing.launch.plan import Plan


@pytest.fixture(autouse=True)
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workers=0", "train.py"], "--workers=0 is too few; a job has at least 1 worker."),
        (["--ps=-1", "train.py"], "--ps=-1 is negative; 0 means no parameter server."),
        (["--num_gpus=-2", "train.py"], "--num_gpus=-2 is negative."),
        (["--max_restarts=-1", "train.py"], "--max_restarts=-1 is negative."),
        (
            ["--grace=-1", "train.py"],
            "--grace=-1 must be from 0 to 86400 seconds, a day; 0 kills at once.",
        ),
        (
            ["--logs=s3://b/logs", "train.py"],
            "--logs=s3://b/logs: the output of the tasks is kept on this machine; name a local"
            " folder. mox.file.copy_parallel takes it to a store afterwards.",
        ),
        (
            ["--isolate", "--emit=slurm", "train.py"],
            "--isolate with --emit=slurm: the scheduler sets up networks.",
        ),
        (
            ["--logs=out", "--emit=k8s", "train.py"],
            "--logs with --emit=k8s: the scheduler keeps the output.",
        ),
        (
            ["train.py", "--task_index=1"],
            "--task_index=1 after the script: mox launch sets --task_index itself.",
        ),
        (
            ["--num_gpus=1", "train.py", "-num_gpus", "2"],
            "-num_gpus after the script: mox launch sets --num_gpus itself.",
        ),
    ],
)
def test_mistakes(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert launch.main(arguments) == 2
    assert capsys.readouterr().err == f"mox: error: {message}\n"


def test_a_missing_script(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert launch.main(["--workers=2", "nothing.py"]) == 2
    assert capsys.readouterr().err == f"mox: error: there is no file nothing.py in {tmp_path}.\n"


def test_flags_after_the_script_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple] = []
    monkeypatch.setattr(
        supervising,
        "supervise",
        lambda *given, limits, network=None: calls.append((*given, limits)) or 9,
    )

    given = [
        "--workers=2",
        "--ps=1",
        "--max_restarts=5",
        "--logs=out",
        "--grace=60",
        "train.py",
        "--ps=3",
        "--help",
    ]
    # `--ps` is no flag of openmox: only the four are.
    assert launch.main(given) == 9
    assert calls == [
        (Plan("train.py", ("--ps=3", "--help"), 2, 1), Path("out"), 5, Limits(stop=60.0))
    ]


def test_the_output_goes_to_a_new_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple] = []
    monkeypatch.setattr(
        supervising, "supervise", lambda *given, limits, network=None: calls.append(given) or 0
    )

    assert launch.main(["train.py"]) == 0
    assert calls[0][1].parent == Path("mox-logs")
    assert calls[0][1].name.startswith("train-")


def test_a_module_is_started_as_python_starts_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "trainer").mkdir()
    (tmp_path / "trainer" / "__init__.py").touch()
    (tmp_path / "trainer" / "task.py").write_text(
        "import sys\nfrom . import words\nprint(__name__, words.HELLO, sys.argv[1:2])\n"
    )
    (tmp_path / "trainer" / "words.py").write_text("HELLO = 'hello'\n")

    assert launch.main(["--workers=2", "-m", "trainer.task", "--job-dir=x"]) == 0

    output = capfd.readouterr().out
    for index in range(2):
        assert f"[worker {index}] __main__ hello ['--job-dir=x']" in output


def test_a_job_of_slurm_starts_the_module(capsys: pytest.CaptureFixture[str]) -> None:
    assert launch.main(["--emit=slurm", "--workers=2", "-m", "trainer.task", "--lr=1"]) == 0
    assert "python -m moxing run -m trainer.task --lr=1" in capsys.readouterr().out
