"""Processes with the roles of TF_CONFIG train what one process trains."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warm
from models import BATCH, X, Y, assert_histories, dense, values

import moxing.keras
from moxing.launch.ports import free_ports

PROGRAM = Path(__file__).with_name("program.py")
LIMIT = 250.0


class Processes:
    """Processes of a cluster, by roles such as {"master": 1, "worker": 1, "ps": 1}."""

    def __init__(self, folder: Path, plan: dict[str, Any], roles: dict[str, int]) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        ports = iter(free_ports(sum(roles.values())))
        cluster = {r: [f"127.0.0.1:{next(ports)}" for _ in range(n)] for r, n in roles.items()}
        self.processes: dict[str, warm.Popen] = {}
        for role, addresses in cluster.items():
            for index in range(len(addresses)):
                config = {"cluster": cluster, "task": {"type": role, "index": index}}
                name = f"{role}{index}"
                environment = {
                    **os.environ,
                    "TF_CONFIG": json.dumps(config),
                    "CUDA_VISIBLE_DEVICES": "-1",
                }
                with open(folder / f"{name}.log", "wb") as output:
                    self.processes[name] = warm.Popen(
                        [sys.executable, str(PROGRAM), json.dumps(plan)],
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        env=environment,
                    )

    def text(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def wait_for(self, name: str, part: str) -> None:
        until = time.monotonic() + LIMIT
        while part not in self.text(name):
            assert self.processes[name].poll() is None, self.text(name)[-3000:]
            assert time.monotonic() < until, self.text(name)[-3000:]
            time.sleep(0.05)

    def codes(self) -> dict[str, int]:
        until = time.monotonic() + LIMIT
        try:
            for name, process in self.processes.items():
                try:
                    process.wait(max(0.1, until - time.monotonic()))
                except subprocess.TimeoutExpired:
                    raise AssertionError(f"{name} hangs: {self.text(name)[-3000:]}") from None
        finally:
            for process in self.processes.values():
                process.kill()
                process.wait()
        return {name: process.returncode for name, process in self.processes.items()}


def kept(folder: Path, name: str) -> list[np.ndarray]:
    with np.load(folder / f"{name}.npz") as stored:
        return [stored[key] for key in stored.files]


def assert_all_equal(left: list[np.ndarray], right: list[np.ndarray]) -> None:
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "form", "roles", "more"),
    [
        ("keras", "arrays", {"master": 1, "worker": 1}, {}),
        ("tf_keras", "samples", {"chief": 1, "worker": 1, "ps": 1}, {}),
        ("keras", "samples", {"chief": 1, "worker": 1, "ps": 1}, {"parameter_server": True}),
    ],
)
def test_two_workers_train_what_one_trains(
    package: str, form: str, roles: dict[str, int], more: dict[str, Any], tmp_path: Path
) -> None:
    arguments: dict[str, Any] = {"batch_size": BATCH, "epochs": 2, "seed": 3}
    if form == "arrays":
        arguments["shuffle"] = True
    plan = {"package": package, "form": form, "save": str(tmp_path / "out")}
    cluster = {**arguments, **more, "output_dir": str(tmp_path / "run")}
    job = Processes(tmp_path / "logs", {**plan, "fit": cluster}, roles)
    alone = dense(package)
    data: Any = (X, Y)
    if form == "samples":
        arguments["shuffle"] = False
    result = moxing.keras.fit(alone, data, (X, Y), **arguments)

    codes = job.codes()
    assert set(codes.values()) == {0}, {name: job.text(name)[-2000:] for name in codes}
    chief = next(iter(roles)) + "0"
    for name in (chief, "worker0"):
        found, expected = kept(tmp_path / "out", name), values(alone)
        if more and name != chief:  # What the optimizer keeps is on the servers, and the chief's.
            found, expected = (part[: len(alone.weights)] for part in (found, expected))
        assert_all_equal(found, expected)
        told = json.loads((tmp_path / "out" / f"{name}.json").read_text())
        assert_histories(told["history"], result.history)
        assert told["chief"] == (name == chief)
    assert "Saving checkpoints for 10" in job.text(chief)
    assert "[EVAL] step: 10 " in job.text(chief)
    assert "[epoch 2] step: 10 " in job.text(chief)
    for of_chief in ("Saving checkpoints", "[EVAL]", "[epoch"):
        assert of_chief not in job.text("worker0")
    assert "sample/sec" in job.text("worker0")
    # The checkpoint is one process's too.
    again = dense(package)
    last = moxing.keras.fit(again, data, output_dir=tmp_path / "run", **arguments)
    assert last.steps == 0
    assert_all_equal(values(again), values(alone))


@pytest.mark.slow
def test_batches_of_each_process_and_batch_norm_and_dropout_stay_equal(tmp_path: Path) -> None:
    """Where the weights can't be those of one process, all processes still have the same."""
    plan = {"package": "keras", "between": ["norm", "drop"], "form": "own"}
    plan |= {"save": str(tmp_path / "out"), "fit": {"steps": 12, "steps_per_epoch": 4}}
    job = Processes(tmp_path / "logs", plan, {"chief": 1, "worker": 1})
    codes = job.codes()
    assert set(codes.values()) == {0}, {name: job.text(name)[-2000:] for name in codes}
    chief, worker = kept(tmp_path / "out", "chief0"), kept(tmp_path / "out", "worker0")
    trained = dense("keras", "adam", "norm", "drop").trainable_variables
    count = 0
    for a, b in zip(chief, worker, strict=True):
        count += np.allclose(a, b, rtol=1e-6, atol=1e-6)
    assert count == len(chief)
    assert len(chief) > len(trained)


@pytest.mark.slow
def test_sigterm_of_one_saves_the_step_and_all_resume(tmp_path: Path) -> None:
    arguments = {"epochs": 8, "output_dir": str(tmp_path / "run")}
    plan = {"package": "keras", "form": "slow", "pause": 0.2, "save": str(tmp_path / "out")}
    roles = {"master": 1, "worker": 1}
    job = Processes(tmp_path / "first", {**plan, "fit": arguments}, roles)
    job.wait_for("master0", "[epoch 2]")
    job.processes["worker0"].send_signal(signal.SIGTERM)
    assert set(job.codes().values()) == {143}, job.text("master0")[-2000:]
    assert not (tmp_path / "out").exists()

    job = Processes(tmp_path / "second", {**plan, "pause": 0.0, "fit": arguments}, roles)
    codes = job.codes()
    assert set(codes.values()) == {0}, {name: job.text(name)[-2000:] for name in codes}
    assert "Restoring parameters" in job.text("master0")
    alone = dense("keras")
    alone.fit(X, Y, batch_size=BATCH, epochs=8, shuffle=False, verbose=0)
    for name in ("master0", "worker0"):
        assert_all_equal(kept(tmp_path / "out", name), values(alone))
