"""The trial on GPUs: its small form runs here, and its table is made of given rates."""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "gpu.py"
HEADER = ["model", "type", "devices", "batch", "openmox", "bare", "PyTorch", "linear"]


@pytest.fixture
def trial(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module."""
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "2")
    monkeypatch.setenv("MOX_SILENT_MODE", "0")
    spec = importlib.util.spec_from_file_location("trial_on_gpus", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def asked(**given: Any) -> argparse.Namespace:
    base = {"models": "resnet50", "types": "fp16", "small": False, "steps": None, "batch": None}
    return argparse.Namespace(**{**base, **given})


@pytest.fixture
def rows(trial: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Callable[..., Any]:
    """Makes the table of a machine with so many GPUs, where a run gives what `rate` returns."""

    def made(gpus: int, rate: Callable[..., float | None], **given: Any) -> tuple[bool, list[Any]]:
        monkeypatch.setattr(trial, "measured", rate)
        well = trial.table(asked(**given), gpus)
        _, header, *lines = capsys.readouterr().out.splitlines()
        assert header.split() == HEADER
        return well, [line.split() for line in lines]

    return made


def test_eight_gpus_have_four_rows(rows: Callable[..., Any]) -> None:
    turns: list[str] = []

    def rate(case: argparse.Namespace, name: str) -> float:
        turns.append(name)
        return 100.0 * case.devices**0.9 + len(turns) % 2

    well, lines = rows(8, rate)
    assert well
    assert [line[2] for line in lines] == ["1", "2", "4", "8"]
    assert lines[0][3] == "256"
    assert lines[0][-1] == "1.00"
    assert lines[3][-1] == "0.81"
    assert lines[3][5:7] == ["-", "-"]
    assert turns.count("bare") == 2
    assert turns.count("openmox") == 8


def test_a_batch_that_does_not_fit_is_halved_for_all(trial: Any, rows: Callable[..., Any]) -> None:
    def rate(case: argparse.Namespace, name: str) -> float:
        if case.batch > (64 if case.devices == 1 else 32):
            raise trial.TooLargeError
        return float(case.batch * case.devices)

    well, lines = rows(2, rate)
    assert well
    assert [line[3] for line in lines] == ["64", "32"]
    assert lines[0][4] == "64.0"
    assert lines[1][-1] == "-"  # One device had larger batches.


def test_not_even_one_sample(trial: Any, rows: Callable[..., Any]) -> None:
    def rate(case: argparse.Namespace, name: str) -> float:
        raise trial.TooLargeError

    well, lines = rows(1, rate)
    assert not well
    assert lines[0][4] == "failed"


def test_a_run_that_fails_leaves_the_others(rows: Callable[..., Any]) -> None:
    turns: list[str] = []

    def rate(case: argparse.Namespace, name: str) -> float | None:
        turns.append(name)
        return None if name == "openmox" else 5.0

    well, lines = rows(1, rate)
    assert not well
    assert lines[0][4:6] == ["failed", "5.0"]
    assert turns == ["openmox", "bare", "bare"]


@pytest.mark.parametrize(("gpus", "devices"), [(0, ["1", "2"]), (1, ["1"]), (3, ["1", "2"])])
def test_the_small_form_asks_for_no_gpu_that_is_not_there(
    gpus: int, devices: list[str], rows: Callable[..., Any]
) -> None:
    _, lines = rows(gpus, lambda case, name: 1.0, small=True)
    assert [line[2] for line in lines] == devices


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("print('{\"rate\": 2.5}')", 2.5),
        ("import sys; sys.exit('RESOURCE_EXHAUSTED: Out of memory')", None),
        ("raise SystemExit('torch.OutOfMemoryError: CUDA out of memory.')", None),
        ("raise SystemExit('broken')", "broken"),
        ("import time; print('at work', flush=True); time.sleep(60)", "over 2 s"),
    ],
)
def test_the_end_of_a_run(
    code: str, result: Any, trial: Any, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    program = tmp_path / "run.py"
    program.write_text(code)
    monkeypatch.setattr(trial, "__file__", str(program))
    monkeypatch.setattr(trial, "LIMIT", 2.0)
    case = asked(model="bert", type="fp32", devices=1, warm=1, steps=1, batch=1)
    if result is None:
        with pytest.raises(trial.TooLargeError):
            trial.measured(case, "openmox")
    elif isinstance(result, str):
        assert trial.measured(case, "openmox") is None
        assert result in capsys.readouterr().err
    else:
        assert trial.measured(case, "openmox") == result


def test_a_mistyped_model_is_told_of(trial: Any, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--models=resnet"])
    with pytest.raises(SystemExit):
        trial.main()
    assert "--models: resnet is none of resnet50, bert" in capsys.readouterr().err


@pytest.mark.slow
def test_one_command_prints_a_table() -> None:
    command = [sys.executable, str(PROGRAM), "--small", "--models=bert", "--types=fp16"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    versions, machine, header, one, two = done.stdout.splitlines()
    assert "TensorFlow" in versions
    assert machine.endswith("small form")
    assert header.split() == HEADER
    assert one.split()[:4] == ["bert", "fp16", "1", "4"]
    assert two.split()[:4] == ["bert", "fp16", "2", "4"]
    assert all(float(rate.replace(",", "")) > 0 for rate in (*one.split()[4:6], two.split()[4]))
