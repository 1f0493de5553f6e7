"""A program that trains until its end, and does itself an injury at a step it is told.

    python lasting.py PLAN [flags of openmox]

PLAN is JSON: {"folder" (of the job: data/, log/, and what the tasks tell), "steps", "save_steps",
"batch" (of each worker), "pause" (seconds after each step), "fault": null or {"task", "step",
"kind", "mark"}}. The fault happens when that task has done so many steps, for a ps when the chief
has, and makes the file "mark".
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox

PLAN: dict[str, Any] = json.loads(sys.argv[1])
FOLDER = Path(PLAN["folder"])
SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "term": signal.SIGTERM}


def task() -> str:
    return f"{mox.get_flag('job_name') or 'worker'} {mox.get_flag('task_index')}"


class Injure(mox.AggregativeSessionRunHook):
    """Tells how far this task is, and does to it what the plan says."""

    def __init__(self, global_step: Any) -> None:
        super().__init__()
        self._global_step = global_step
        self._done = False

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._step = int(session.run(self._global_step))
        print(json.dumps({"start": self._step}), flush=True)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if task() == "worker 0":
            # Whoever does a further step has committed what was due at the one before.
            done = self._step - self._step % PLAN["save_steps"]
            (FOLDER / "acknowledged.new").write_text(str(done))
            os.replace(FOLDER / "acknowledged.new", FOLDER / "acknowledged")
        self._step += 1
        time.sleep(PLAN["pause"])
        fault = PLAN["fault"]
        if fault is None or self._step < fault["step"] or self._done:
            return
        if task() == (fault["task"] if fault["task"].startswith("worker") else "worker 0"):
            self._done = True
            Path(fault["mark"]).touch()
            injure(fault)


def injure(fault: dict[str, Any]) -> None:
    if fault["kind"] == "raise":
        raise ArithmeticError("an error of the program")
    if fault["kind"] in ("saving", "full"):
        fail_in_next_save(fault["kind"] == "saving")
        return
    victims = [fault["task"]]
    if fault["kind"] == "term all":
        victims = [path.name for path in FOLDER.glob("pids/*")]
    for victim in victims:
        pid = int((FOLDER / "pids" / victim).read_text())
        os.kill(pid, SIGNALS[fault["kind"].split()[0]])
    if fault["task"].startswith("ps"):
        time.sleep(0.2)  # So that the chief's next step meets it.


def fail_in_next_save(dies: bool) -> None:
    """At the next checkpoint that is written and not yet committed, dies or finds the disk full."""
    from moxing.engine.checkpoint.saving import saver

    def commit(*arguments: Any) -> None:
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    saver.commit = commit


def input_fn(mode: str) -> Any:
    metadata = mox.BaseTFRecordMetadata(str(FOLDER / "data"), "*.tfrecord")
    kinds = [tf.io.FixedLenFeature([8], tf.float32), tf.io.FixedLenFeature([], tf.int64)]
    return mox.BaseTFRecordDataset(metadata, ["x", "y"], kinds).get(["x", "y"])


def model_fn(inputs: Any, mode: str) -> Any:
    x, y = inputs
    hidden = tf.nn.dropout(tf.layers.dense(x, 16, activation=tf.nn.relu), rate=0.2)
    logits = tf.layers.dense(hidden, 3)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    hook = Injure(tf.train.get_or_create_global_step())
    return mox.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=[hook])


def main() -> None:
    (FOLDER / "pids").mkdir(exist_ok=True)
    (FOLDER / "pids" / task()).write_text(str(os.getpid()))
    result = mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("adam", learning_rate=0.01),
        run_mode=mox.ModeKeys.TRAIN,
        batch_size=PLAN["batch"],
        log_dir=str(FOLDER / "log"),
        max_number_of_steps=PLAN["steps"],
        save_model_steps=PLAN["save_steps"],
        log_every_n_steps=10,
    )
    print(json.dumps({"end": result.global_step}), flush=True)


main()
