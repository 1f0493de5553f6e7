"""Trains a job to its end through a schedule of faults, and checks what must hold after each."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import tensorflow.compat.v1 as tf
from gang import Nursery

from moxing.engine.checkpoint.restoring.newest import newest
from moxing.launch.ports import free_ports

PROGRAM = Path(__file__).with_name("lasting.py")
SURVIVE = 45.0  # Seconds in which all others have ended; a silence counts after 60.
MEET = 10.0  # Seconds in which tasks must meet, where one may be killed before.
STALL = 6.0  # Seconds of silence that end a job, where a task is to fall silent.
LONGEST = 200.0  # An attempt that takes longer hangs.
SAVE_STEPS, BATCH = 5, 4
PAUSE = 0.02  # Seconds a step: workers that share steps go on for a while when another is gone.


@dataclass(frozen=True)
class Fault:
    """What happens to a task at a step.

    Attributes:
        task: such as `worker 1`.
        step: global step; for a ps it is the chief's.
        kind: `kill`, `stop` (SIGSTOP), `term` (SIGTERM), `term all` (SIGTERM to every task),
            `raise` (an error of the program), `saving` (killed between writing and committing),
            `full` (no space for a commit) or `after` (killed from outside, whatever it does).
        seconds: after the start of the job, for `after`, which the step does not matter for.
    """

    task: str
    step: int
    kind: str
    seconds: float = 0.0


@dataclass(frozen=True)
class Shape:
    """A cluster: how many tasks, and the flags that all of them get."""

    workers: int
    ps: int = 0
    flags: tuple[str, ...] = ()

    @property
    def tasks(self) -> list[str]:
        kinds = [("worker", self.workers), ("ps", self.ps)]
        return [f"{kind} {index}" for kind, count in kinds for index in range(count)]

    @property
    def shares_steps(self) -> bool:
        """Whether workers do not wait for each other."""
        return "--sync_replicas=false" in self.flags


def make_data(folder: Path, count: int = 61) -> None:
    """Records of random points and their classes."""
    random = np.random.RandomState(0)
    folder.mkdir(parents=True)
    with tf.io.TFRecordWriter(str(folder / "a.tfrecord")) as writer:
        for x in random.randn(count, 8).astype(np.float32):
            features = {
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=x)),
                "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[int(x[:3].argmax())])),
            }
            record = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(record.SerializeToString())


class Lasting:
    """A job that is started again after each fault, until it is done.

    Attributes:
        happened: the faults that did happen, each with the seconds that the others then took.
    """

    def __init__(
        self,
        nursery: Nursery,
        folder: Path,
        shape: Shape,
        faults: Sequence[Fault],
        steps: int,
    ) -> None:
        self._nursery, self._folder, self._shape, self._faults = nursery, folder, shape, faults
        self._plan = {
            "folder": str(folder),
            "steps": steps,
            "save_steps": SAVE_STEPS,
            "batch": BATCH,
        }
        self._attempt = 0
        self._committed = 0
        self.happened: list[tuple[Fault, float]] = []
        make_data(folder / "data")

    def run(self) -> None:
        """Starts the job once for each fault, and then until its end.

        It may end before its last fault where that is to happen some seconds after a start.
        """
        while not self._try_once():
            pass

    def weights(self) -> dict[str, np.ndarray]:
        """Every value of the last checkpoint."""
        reader = tf.train.load_checkpoint(str(self._folder / "log"))
        return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}

    def _try_once(self) -> bool:
        """Runs all tasks until they have ended, through the next fault; whether all did work."""
        fault = self._faults[self._attempt] if self._attempt < len(self._faults) else None
        self._attempt += 1
        pids = self._start(fault)
        try:
            self._wait(pids, fault)
            codes = {task: self._nursery.ends[pid][0] for task, pid in pids.items()}
        finally:
            self._kill(pids)
        if fault is None or not self._mark.exists():
            assert fault is None or fault.kind == "after", f"{fault} did not happen"
            assert set(codes.values()) == {0}, (codes, self._texts())
            return True
        self._check_starts()
        self._check_commits()
        self._check_reasons(fault, codes)
        return False

    def _start(self, fault: Fault | None) -> dict[str, int]:
        shape, flags = self._shape, ["--seed=3", *self._shape.flags]
        ports = [f"127.0.0.1:{port}" for port in free_ports(len(shape.tasks))]
        flags.append("--worker_hosts=" + ",".join(ports[: shape.workers]))
        if shape.ps:
            flags.append("--ps_hosts=" + ",".join(ports[shape.workers :]))
        if fault is not None and fault.kind == "stop":
            flags.append(f"--stall_timeout={STALL:.0f}")
        if fault is not None and fault.kind == "after":
            flags.append(f"--session_timeout={MEET:.0f}")
        pause = PAUSE if fault is not None else 0.0
        told = fault and {**asdict(fault), "mark": str(self._mark)}
        plan = {**self._plan, "pause": pause, "fault": told}
        pids = {}
        for task in shape.tasks:
            kind, index = task.split()
            own = [f"--job_name={kind}", f"--task_index={index}"]
            pids[task] = self._nursery.start(
                PROGRAM, self._output(task), json.dumps(plan), *flags, *own
            )
        return pids

    def _wait(self, pids: dict[str, int], fault: Fault | None) -> None:
        """Waits for all tasks.

        A task that was stopped goes on when the others are gone, and has as long to end.
        """
        began, woken = time.time(), 0.0
        ends = self._nursery.ends
        while any(pid not in ends for pid in pids.values()):
            self._nursery.listen(0.05)
            left = {task: pid for task, pid in pids.items() if pid not in ends}
            if time.time() > began + LONGEST:
                self._give_up(left, "it hangs")
            if fault is None:
                continue
            due = fault.kind == "after" and time.time() > began + fault.seconds
            if due and fault.task in left and not self._mark.exists():
                os.kill(left[fault.task], signal.SIGKILL)
                self._mark.touch()
            if not self._mark.exists():
                continue
            limit = SURVIVE + (MEET if fault.kind == "after" else 0.0)
            if fault.kind == "stop" and not woken:
                limit += STALL
                if [*left] == [fault.task]:
                    woken = time.time()
                    os.kill(pids[fault.task], signal.SIGCONT)
                left.pop(fault.task, None)
            if left and time.time() - max(self._mark.stat().st_mtime, woken) >= limit:
                self._give_up(left, f"{fault} happened")
        if fault is not None and self._mark.exists():
            others = [pid for task, pid in pids.items() if task != fault.task]
            seconds = max(ends[pid][1] for pid in others) - self._mark.stat().st_mtime
            self.happened.append((fault, seconds))

    @property
    def _mark(self) -> Path:
        """The file that is there from when the fault of this attempt happens."""
        return self._folder / f"fault-{self._attempt}"

    def _check_starts(self) -> None:
        """Every worker started where the last commit was."""
        for task in self._shape.tasks:
            told = [line for line in self._text(task).splitlines() if line.startswith('{"start"')]
            if told and not self._shape.shares_steps:
                assert json.loads(told[0])["start"] == self._committed, self._texts()
            elif told:
                assert json.loads(told[0])["start"] >= self._committed, self._texts()

    def _check_commits(self) -> None:
        """What was acknowledged is there, and is not behind what was there before."""
        told = self._folder / "acknowledged"
        acknowledged = int(told.read_text()) if told.exists() else 0
        found = newest(self._folder / "log")
        step = found.step or 0 if found is not None else 0
        assert step >= self._committed, self._texts()
        if not self._shape.shares_steps:
            assert step >= acknowledged, self._texts()
        self._committed = step

    def _check_reasons(self, fault: Fault, codes: dict[str, int]) -> None:
        """Every survivor names the first cause, and ends as one that may be started again."""
        others = [code for task, code in codes.items() if task != fault.task]
        if fault.kind.startswith("term"):
            assert set(codes.values()) == {143}, (fault, codes, self._texts())
            told = f"Stopped by SIGTERM at step {self._committed}, which worker 0 saves."
            assert told in self._text("worker 1"), self._texts()
            return
        if fault.kind == "after" and not any(others) and self._committed >= self._plan["steps"]:
            return  # It had done all its work.
        told = {
            "kill": f"{fault.task} (127.0.0.1",
            "after": f"{fault.task} (127.0.0.1",
            "saving": f"{fault.task} (127.0.0.1",
            "stop": f"{fault.task} (127.0.0.1",
            "raise": "ArithmeticError: an error of the program",
            "full": "No space left on device",
        }[fault.kind]
        why = {"kill": "died: ", "saving": "died: ", "stop": "has stood still", "after": ""}
        for task in self._shape.tasks:
            if task != fault.task:
                text = self._text(task)
                assert codes[task] != 0, (task, codes, text[-3000:])
                assert told in text, (fault, task, codes, text[-3000:])
                assert why.get(fault.kind, "failed: ") in text, (fault, task, text[-3000:])

    def _output(self, task: str) -> Path:
        return self._folder / f"{task.replace(' ', '-')}.{self._attempt}.txt"

    def _text(self, task: str) -> str:
        return self._output(task).read_text(errors="replace")

    def _texts(self) -> str:
        parts = [f"--- {task}:\n{self._text(task)[-2500:]}" for task in self._shape.tasks]
        return f"attempt {self._attempt} in {self._folder}\n" + "\n".join(parts)

    def _give_up(self, left: dict[str, int], why: str) -> NoReturn:
        """Lets processes that should have ended say where they are, at the end of their output."""
        for pid in left.values():
            os.kill(pid, signal.SIGABRT)
        time.sleep(1.0)
        raise AssertionError(f"{why}, and still run: {', '.join(left)}. {self._texts()}")

    def _kill(self, pids: dict[str, int]) -> None:
        for pid in pids.values():
            if pid not in self._nursery.ends:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
