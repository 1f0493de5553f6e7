"""The trial on GPUs runs here in its small form, with one command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "gpu.py"


@pytest.mark.slow
def test_one_command_prints_a_table() -> None:
    command = [sys.executable, str(PROGRAM), "--small", "--models=bert", "--types=fp16"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    versions, machine, header, one, two = done.stdout.splitlines()
    assert "TensorFlow" in versions
    assert machine.endswith("small form")
    assert header.split() == ["model", "type", "devices", "openmox", "bare", "PyTorch"]
    assert one.split()[:3] == ["bert", "fp16", "1"]
    assert two.split()[:3] == ["bert", "fp16", "2"]
    assert all(float(rate.replace(",", "")) > 0 for rate in (*one.split()[3:5], two.split()[3]))
