"""Trainings in networks of their own that save to a store on this machine's loopback.

slirp4netns itself leads out: where it is missing or may not open /dev/net/tun, nothing is run.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("_leads_out")]
LIMIT = 240.0
PROGRAM = """
import os, sys
import tensorflow as tf
import moxing.tensorflow as mox

tf.flags.DEFINE_string("train_url", None, "")
FLAGS = tf.flags.FLAGS

def input_fn(mode):
    return tf.data.Dataset.from_tensors([1.0, 2.0]).repeat()

def model_fn(inputs, mode):
    w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(w - inputs[0]))
    return mox.ModelSpec(loss=loss, log_info={"loss": loss})

mox.run(input_fn, model_fn=model_fn, optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.01),
        run_mode=mox.ModeKeys.TRAIN, batch_size=1, log_dir=FLAGS.train_url, save_model_steps=20,
        max_number_of_steps=int(os.environ["STEPS"]))
"""
# Runs operations on TensorFlow's server in each process of a job, as anybody could who reaches it.
ASK = """
import sys
import tensorflow.compat.v1 as tf
for address in sys.argv[1:]:
    with tf.Graph().as_default() as graph:
        read = tf.io.read_file("/etc/hostname")
    options = tf.ConfigProto(operation_timeout_in_ms=5000)
    try:
        with tf.Session("grpc://" + address, graph, options) as session:
            print(address, "READ", session.run(read))
    except tf.errors.OpError as error:
        print(address, type(error).__name__)
"""
# An ssh that stays on this machine.
SSH = runpy.run_path(str(Path(__file__).parents[1] / "private" / "conftest.py"))["SSH"]


class Job:
    """`mox launch` with a program that trains two workers."""

    def __init__(self, folder: Path, log_dir: str, steps: int, *flags: str) -> None:
        program = folder / "train.py"
        program.write_text(PROGRAM)
        self.said = folder / "said"
        words = ["launch", *flags, f"--logs={folder}/logs", str(program), f"--train_url={log_dir}"]
        own = {"STEPS": str(steps), "CUDA_VISIBLE_DEVICES": "-1"}
        with self.said.open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "moxing", *words],
                cwd=folder,
                env={**os.environ, **own},
                stdout=file,
                stderr=file,
            )

    def text(self) -> str:
        return self.said.read_text(errors="replace")

    def until(self, words: str) -> None:
        deadline = time.monotonic() + LIMIT
        while words not in self.text():
            assert self.process.poll() is None, self.text()
            assert time.monotonic() < deadline, self.text()
            time.sleep(0.1)

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(LIMIT)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Any]:
    """Starts jobs, and ends them behind the test."""
    started: list[Job] = []

    def start(log_dir: str, steps: int, *flags: str) -> Job:
        started.append(Job(tmp_path, log_dir, steps, *flags))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait(LIMIT)


def saved(client: Any, bucket: str) -> set[str]:
    """The checkpoints that the store has in whole."""
    listed = client.list_objects_v2(Bucket=bucket.removeprefix("s3://")).get("Contents", [])
    keys = {entry["Key"] for entry in listed}
    return {key.removesuffix(".index") for key in keys if key.endswith(".index")}


def test_the_default_saves_to_the_store_and_is_resumed(job: Any, bucket: str, client: Any) -> None:
    first = job(f"{bucket}/run", 100, "--workers=2")
    assert first.process.wait(LIMIT) == 0, first.text()
    assert "The job has a network of its own" in first.text()
    assert "run/model.ckpt-100" in saved(client, bucket)
    second = job(f"{bucket}/run", 120, "--workers=2")
    assert second.process.wait(LIMIT) == 0, second.text()
    assert f"Restoring parameters from {bucket}/run/model.ckpt-100" in second.text()
    assert "run/model.ckpt-120" in saved(client, bucket)


def test_tasks_of_private_save_to_the_store(
    job: Any, bucket: str, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ssh").write_text(SSH)
    (tmp_path / "bin/ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    private = job(f"{bucket}/run", 60, "--hosts=a,b", "--ssh", "--private")
    assert private.process.wait(LIMIT) == 0, private.text()
    assert "reach only the other tasks" not in private.text()
    assert "run/model.ckpt-60" in saved(client, bucket)


@pytest.mark.parametrize("flag", ["", "--no-isolate"])
def test_tensorflow_s_server_answers_the_job_alone(flag: str, job: Any, tmp_path: Path) -> None:
    """In the machine's network everybody reads files through it, as SECURITY.md says."""
    running = job(f"{tmp_path}/run", 10**9, "--workers=2", *filter(None, [flag]))
    running.until("step: 20")
    hosts = next(w for w in command_of(running.process.pid) if w.startswith("--worker_hosts="))
    addresses = hosts.partition("=")[2].split(",")
    asked = subprocess.run(
        [sys.executable, "-c", ASK, *addresses],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert asked.stdout.count("READ") == (2 if flag else 0), asked.stdout + asked.stderr
    assert len(asked.stdout.splitlines()) == 2, asked.stderr
    assert running.end(signal.SIGTERM) == 143


def command_of(launcher: int) -> list[str]:
    """The command line of a launcher's task."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            words = (folder / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if int(parent) == launcher and any(w.startswith("--worker_hosts=") for w in words):
            return words
    raise AssertionError("no task")
