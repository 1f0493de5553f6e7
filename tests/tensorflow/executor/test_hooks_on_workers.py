"""Hooks that evaluate during training decide alike on all workers, by the chief's values."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import warm

from moxing.launch.ports import free_ports

PROGRAM = Path(__file__).with_name("evaluating.py")


@pytest.mark.slow
def test_all_workers_stop_where_the_chief_s_values_say(tmp_path: Path) -> None:
    hosts = ",".join(f"127.0.0.1:{port}" for port in free_ports(2))
    workers = [
        warm.Popen(
            [sys.executable, str(PROGRAM), str(tmp_path / "log"), f"--worker_hosts={hosts}"]
            + ["--job_name=worker", f"--task_index={index}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "TF_USE_LEGACY_KERAS": "1", "CUDA_VISIBLE_DEVICES": "-1"},
        )
        for index in range(2)
    ]
    try:
        texts = [worker.communicate(timeout=250)[0] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    assert [worker.returncode for worker in workers] == [0, 0], texts
    # 64 samples in batches of 8 on 2 workers: an epoch of 4 steps; the third evaluation ends it.
    for text in texts:
        lines = re.findall(r"\[EarlyStopping\] step: (\d+) worst: ([\d.]+)", text)
        assert lines == [("3", "1.000"), ("7", "1.000"), ("11", "1.000")], text
    assert "from global step 0 to 13" in texts[0], texts[0]
