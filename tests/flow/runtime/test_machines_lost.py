"""What stops one of several machines, at each part of a program: all end, and say why."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import warm

from moxing.flow.runtime import addresses
from moxing.launch.ports import free_ports

PROGRAM = """\
import os
import sys
import time
import oneflow as flow

flow.env.machine(sys.argv[1].split(","))
flow.env.stall_timeout(8)


@flow.function
def train():
    flow.config.train.primary_lr(0.01)
    flow.config.train.model_update_conf({"naive_conf": {}})
    print("tracing", file=sys.stderr, flush=True)
    while "trace" in sys.argv:
        time.sleep(0.05)
    x = flow.data.decode_random((3,), flow.float, 4)
    loss = flow.layers.dense(x, 1, name="fc")
    for name in "abcd" if "save" in sys.argv else "":
        flow.get_variable(name, (5000000,), initializer=flow.ones_initializer())
    flow.losses.add_loss(flow.reshape(loss, (4,)))
    return loss


point = flow.train.CheckPoint()
point.init()
for step in range(1000000):
    train().get()
    print("step", step, flush=True)
    if "save" in sys.argv:
        point.save("saved%05d" % step)
        print("saved", step, flush=True)
    if "exit" in sys.argv:
        sys.exit(7 if os.fork() and os.wait() else 0)
"""


class Pair:
    """Two processes of the program, each as one machine."""

    def __init__(self, folder: Path, *words: str) -> None:
        (folder / "program.py").write_text(PROGRAM)
        self.addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
        self.paths = [folder / f"output{number}" for number in (0, 1)]
        self.processes = []
        for number, path in enumerate(self.paths):
            with path.open("wb") as output:
                self.processes.append(
                    warm.Popen(
                        [*(sys.executable, "-m", "moxing", "run", "program.py")]
                        + [",".join(self.addresses), *words],
                        cwd=folder,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        env={**os.environ, addresses.VARIABLE: str(number)},
                    )
                )

    def named(self, number: int) -> str:
        return f"worker {number} ({self.addresses[number]})"

    def output(self, number: int) -> str:
        return self.paths[number].read_text()

    def wait_for(self, number: int, text: str) -> None:
        limit = time.monotonic() + 120
        while text not in self.output(number):
            assert time.monotonic() < limit, self.output(number)
            assert self.processes[number].poll() is None, self.output(number)
            time.sleep(0.02)

    def send(self, number: int, what: signal.Signals) -> None:
        self.processes[number].send_signal(what)

    def codes(self) -> list[int]:
        return [process.wait(240) for process in self.processes]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Callable[..., Pair]]:
    made: list[Pair] = []

    def start(*words: str) -> Pair:
        made.append(Pair(tmp_path, *words))
        return made[-1]

    yield start
    for process in (process for one in made for process in one.processes):
        process.kill()
        process.wait()


@pytest.mark.slow
def test_nobody_waits_for_a_machine_that_stood_still_nor_does_it_once_it_wakes(
    pair: Callable[..., Pair],
) -> None:
    both = pair()
    both.wait_for(0, "step 5\n")
    both.send(0, signal.SIGSTOP)
    assert both.processes[1].wait(240) == 143
    still = re.escape(both.named(0)) + r" has stood still( at step \d+)? for \d+ s"
    assert re.search(rf"ERROR:tensorflow:{still}\n", both.output(1))
    both.send(0, signal.SIGCONT)

    assert both.codes() == [143, 143]

    told = rf"ERROR:tensorflow:{re.escape(both.named(1))} failed: {still}\n"
    assert re.search(told, both.output(0)), both.output(0)


@pytest.mark.slow
def test_a_signal_while_jobs_are_traced_is_told(pair: Callable[..., Pair]) -> None:
    both, victim = pair("trace"), 0
    for number in (0, 1):
        both.wait_for(number, "tracing\n")
    # The other one still traces: it has heard of it nevertheless.
    both.send(victim, signal.SIGTERM)

    assert both.processes[victim].wait(240) == 143
    assert "SIGTERM: stopping.\n" in both.output(victim)
    both.wait_for(1 - victim, f"{both.named(victim)} has left: SIGTERM told it to stop\n")


@pytest.mark.slow
def test_ctrl_c_on_a_machine_that_serves_ends_the_master(pair: Callable[..., Pair]) -> None:
    both = pair()
    both.wait_for(0, "step 5\n")
    both.send(1, signal.SIGINT)

    assert both.codes() == [143, 130]

    assert (
        f"mox: error: {both.named(1)} has left: SIGINT told it to stop. This process stopped at"
        in both.output(0)
    )
    assert "The step did not end" not in both.output(0)


@pytest.mark.slow
def test_a_program_that_ends_itself_with_a_code_ends_the_others_with_an_error(
    pair: Callable[..., Pair],
) -> None:
    """A child that it forked ends nobody."""
    both = pair("exit")

    assert both.codes() == [7, 143]

    assert (
        f"mox: error: {both.named(0)} failed: the program ended itself (exit code 7). So machine 1"
        " ends.\n" in both.output(1)
    )


@pytest.mark.slow
def test_ctrl_c_at_all_machines_ends_all(pair: Callable[..., Pair]) -> None:
    """A terminal sends it to all of its processes."""
    both = pair()
    both.wait_for(0, "step 5\n")
    for number in (0, 1):
        both.send(number, signal.SIGINT)

    codes = both.codes()

    assert 130 in codes
    assert set(codes) <= {130, 143}
    assert "The step did not end" not in both.output(0) + both.output(1)


@pytest.mark.slow
def test_a_machine_that_is_stopped_during_a_save_of_the_master_cuts_no_save(
    pair: Callable[..., Pair], tmp_path: Path
) -> None:
    both = pair("save")
    both.wait_for(0, "saved 1\n")
    limit = time.monotonic() + 60
    while not any(path.name.startswith(".saved") for path in tmp_path.iterdir()):
        assert time.monotonic() < limit
        time.sleep(0.002)
    both.send(1, signal.SIGTERM)

    assert both.codes() == [143, 143], both.output(0)

    assert f"mox: error: {both.named(1)} has left: SIGTERM told it to stop." in both.output(0)
    folders = sorted(path for path in tmp_path.iterdir() if path.name.startswith("saved"))
    assert len(folders) > 2
    for folder in folders:
        assert (folder / "snapshot_done").exists()
        assert [(folder / name / "out").stat().st_size for name in "abcd"] == [20_000_000] * 4
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".saved")]
