"""Real processes of a cluster on loopback, for tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
import warm

from moxing.launch.ports import free_ports

PROGRAM = Path(__file__).with_name("together.py")
LIMIT = 200.0


class Job:
    """Processes that train together, each with its output in a file.

    Args:
        folder: where output goes.
        plan: for the program.
        workers, ps: how many.
        flags: for each process.
    """

    def __init__(
        self, folder: Path, plan: dict[str, Any], workers: int = 1, ps: int = 0, *flags: str
    ) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        ports = [f"127.0.0.1:{port}" for port in free_ports(workers + ps)]
        common = list(flags)
        if workers + ps > 1:
            common.append("--worker_hosts=" + ",".join(ports[:workers]))
        if ps:
            common.append("--ps_hosts=" + ",".join(ports[workers:]))
        names = [("worker", i) for i in range(workers)] + [("ps", i) for i in range(ps)]
        self.processes: dict[str, warm.Popen] = {}
        for job, index in names:
            own = [f"--job_name={job}", f"--task_index={index}"] if workers + ps > 1 else []
            self.processes[f"{job}{index}"] = self._start(f"{job}{index}", plan, common + own)

    def _start(self, name: str, plan: dict[str, Any], flags: list[str]) -> warm.Popen:
        environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1", "CUDA_VISIBLE_DEVICES": "-1"}
        with open(self.folder / name, "wb") as output:
            return warm.Popen(
                [sys.executable, str(PROGRAM), json.dumps(plan), *flags],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
            )

    def text(self, name: str) -> str:
        """What a process has printed."""
        return (self.folder / name).read_text(errors="replace")

    def told(self, name: str) -> list[dict[str, Any]]:
        """What a process has said of its runs."""
        lines = self.text(name).splitlines()
        return [json.loads(line) for line in lines if line.startswith('{"run"')]

    def wait_for(self, name: str, part: str, limit: float = LIMIT) -> None:
        """Waits until a process has printed `part`."""
        until = time.monotonic() + limit
        while part not in self.text(name):
            alive = self.processes[name].poll() is None
            assert alive, self.text(name)[-3000:]
            assert time.monotonic() < until, self.text(name)[-3000:]
            time.sleep(0.05)

    def codes(self, limit: float = LIMIT) -> dict[str, int]:
        """Every exit code; processes that are left after the limit are killed and shown."""
        until = time.monotonic() + limit
        try:
            for name, process in self.processes.items():
                try:
                    process.wait(max(0.1, until - time.monotonic()))
                except subprocess.TimeoutExpired:
                    raise AssertionError(f"{name} hangs: {self.text(name)[-3000:]}") from None
        finally:
            self.kill()
        return {name: process.returncode for name, process in self.processes.items()}

    def kill(self) -> None:
        """Kills what still runs."""
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()


def weights(directory: Path) -> dict[str, np.ndarray]:
    """Every value of the newest checkpoint."""
    reader = tf.train.load_checkpoint(str(directory))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def assert_equal(left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> None:
    """Equal to 1e-5, variable by variable."""
    assert sorted(left) == sorted(right)
    for name in left:
        np.testing.assert_allclose(left[name], right[name], rtol=1e-5, atol=1e-5, err_msg=name)
