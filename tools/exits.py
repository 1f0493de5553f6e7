"""Counts the exit codes of programs that end while native threads are in Python code.

    python tools/exits.py --exits 300 [--load 10] [--case flow] [--fresh]

Each exit is one run of a small program of a dialect: training, evaluation and prediction by
mox.run, an Estimator, moxing.keras.fit, a flow job, a TensorFlow 1.x program with a session of its
own, or two workers of `mox launch` of which one is killed. Its data come from a generator that is
fast, slow, blocked or asleep when the program ends, or gets SIGTERM, Ctrl-C once or twice, or an
error. A round runs every case once, in random order, several at a time. Programs are forks of a
process that has imported TensorFlow, and shut down as Python does; with --fresh each one starts a
new interpreter.

Prints a line for each exit that is not as it should be: an abort, a wrong code, or no end within
the limit; then a table of the cases.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "fixtures"))

import warm  # noqa: E402

LIMIT = 900.0  # Seconds for a program to do its work and to end; a busy machine is slow.
LAST = 8  # The element at which the data stop; some steps are done by then.
ABORTS = (-signal.SIGABRT, 128 + signal.SIGABRT, -signal.SIGSEGV, 128 + signal.SIGSEGV)
# What the launcher says of a task that aborted.
ABORTED = ("SIGABRT", "exit code -6", "code 134", "FATAL: exception not rethrown", "SIGSEGV")

INPUT = """
import itertools, os, signal, sys, threading, time
import numpy as np
KIND, MODE, FOLDER = os.environ["EXITS_INPUT"], os.environ["EXITS_MODE"], os.environ["EXITS_FOLDER"]

def dies():
    from moxing import flags
    # A program of Keras alone gets its place by TF_CONFIG.
    second = flags.get_flag("task_index") == 1 or '"index": 1' in os.environ.get("TF_CONFIG", "")
    return KIND == "killed" and second

def numbers(last=LAST):
    for number in itertools.count():
        if number == last:
            print("STOPS", flush=True)
            if KIND == "blocked":
                threading.Event().wait()
            elif KIND == "asleep":
                time.sleep(3600)
            elif KIND == "fails":
                raise ValueError("a bad sample")
            elif dies():
                os.kill(os.getpid(), signal.SIGKILL)
        if KIND in ("slow", "killed"):
            time.sleep(0.02)
        yield np.full([4], number % 5, np.float32)
""".replace("LAST", str(LAST))

LOSS = """
def loss_of(x):
    w = tf.get_variable("w", [4, 1], initializer=tf.zeros_initializer())
    return tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
"""

MOX = """
import tensorflow as tf
import moxing.tensorflow as mox

def input_fn(mode):
    return tf.data.Dataset.from_generator(numbers, tf.float32, [4]).repeat()

def model_fn(inputs, mode):
    loss = loss_of(inputs[0])
    return mox.ModelSpec(loss=loss, log_info={"loss": loss}, output_info={"loss": loss})

def train(steps):
    sgd = mox.get_optimizer_fn("sgd", learning_rate=0.001)
    mox.run(input_fn, model_fn=model_fn, optimizer_fn=sgd,
            run_mode=mox.ModeKeys.TRAIN, batch_size=2, log_dir=FOLDER, max_number_of_steps=steps,
            log_every_n_steps=1)

if MODE == "train":
    train(STEPS)
else:
    kind, KIND = KIND, "fast"
    train(1)
    KIND = kind
    mox.run(input_fn, lambda values: None, model_fn, run_mode=MODE.upper(), batch_size=2,
            checkpoint_path=FOLDER, max_number_of_steps=STEPS, log_every_n_steps=1,
            output_every_n_steps=1)
"""

ESTIMATOR = """
import tensorflow as tf

def input_fn():
    return tf.data.Dataset.from_generator(numbers, tf.float32, [4]).repeat().batch(2)

def model_fn(features, labels, mode):
    loss = loss_of(features)
    step = tf.train.get_global_step()
    train_op = tf.train.GradientDescentOptimizer(0.001).minimize(loss, step)
    return tf.estimator.EstimatorSpec(mode, {"loss": tf.fill([2], loss)}, loss, train_op)

config = tf.estimator.RunConfig(log_step_count_steps=1)
estimator = tf.estimator.Estimator(model_fn, FOLDER, config)
if MODE == "train":
    estimator.train(input_fn, max_steps=STEPS)
else:
    kind, KIND = KIND, "fast"
    estimator.train(input_fn, steps=1)
    KIND = kind
    if MODE == "eval":
        estimator.evaluate(input_fn, steps=STEPS)
    else:
        list(itertools.islice(estimator.predict(input_fn), 2 * STEPS))
"""

KERAS = """
import tensorflow as tf
import moxing.keras

def pairs():
    for x in numbers():
        yield x, x[:1]

kinds = tf.TensorSpec([4], tf.float32), tf.TensorSpec([1], tf.float32)
data = tf.data.Dataset.from_generator(pairs, output_signature=kinds).repeat().batch(2)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(tf.keras.optimizers.SGD(0.001), "mse")
moxing.keras.fit(model, data, output_dir=FOLDER, steps=STEPS, log_every=1)
"""

FLOW = """
import oneflow as flow

@flow.function
def job(x=flow.FixedTensorDef((2, 4))):
    flow.config.train.primary_lr(0.001)
    flow.config.train.model_update_conf(dict(naive_conf={}))
    w = flow.get_variable("w", (4, 1), initializer=flow.zeros_initializer())
    loss = flow.math.reduce_mean(flow.math.square(flow.matmul(x, w)))
    flow.watch(loss, lambda value: next(values))
    flow.losses.add_loss(loss)
    return loss

values = numbers()
flow.train.CheckPoint().init()
for number in range(2 * STEPS):
    job(np.full((2, 4), number, np.float32)).async_get(lambda value: print("step", flush=True))
os.makedirs(FOLDER, exist_ok=True)
flow.train.CheckPoint().save(os.path.join(FOLDER, "last"))
"""

SESSION = """
import tensorflow as tf

data = tf.data.Dataset.from_generator(numbers, tf.float32, [4]).repeat().batch(2).prefetch(4)
loss = loss_of(data.make_one_shot_iterator().get_next())
train = tf.train.GradientDescentOptimizer(0.001).minimize(loss)
session = tf.Session()
session.run(tf.global_variables_initializer())
for step in range(STEPS):
    session.run(train)
    print("step", step, flush=True)
"""

QUEUES = """
import tensorflow as tf

values = numbers()
lock = threading.Lock()

def take():
    with lock:
        return next(values)

x = tf.py_func(take, [], tf.float32)
x.set_shape([4])
loss = loss_of(tf.train.batch([x], 2, num_threads=2))
step = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(0.001).minimize(loss, step)
hooks = [tf.train.StopAtStepHook(STEPS)]
# The threads that wait in take() occupy two of TensorFlow's, of which a small machine has two.
threads = tf.ConfigProto(inter_op_parallelism_threads=8)
with tf.train.MonitoredTrainingSession(
    checkpoint_dir=FOLDER, hooks=hooks, config=threads
) as session:
    while not session.should_stop():
        session.run(train)
        print("step", flush=True)
"""


@dataclass(frozen=True)
class Case:
    """A program, what happens to it, and how it should end.

    Attributes:
        dialect: name of the program.
        mode: train, eval or predict.
        kind: what the generator does at its element LAST.
        event: the signals that the program gets when the generator stops there.
        codes: the right exit codes.
    """

    dialect: str
    mode: str
    kind: str
    event: tuple[int, ...] = ()
    codes: tuple[int, ...] = (0,)

    def __str__(self) -> str:
        signals = "".join(f" {signal.Signals(number).name}" for number in self.event)
        return f"{self.dialect} {self.mode} {self.kind}{signals}"


SOURCES = {
    "mox": LOSS + MOX,
    "estimator": LOSS + ESTIMATOR,
    "keras": KERAS,
    "flow": FLOW,
    "session": LOSS + SESSION,
    "queues": LOSS + QUEUES,
}
WAITS = ("blocked", "asleep")
TERM, CTRL_C = (signal.SIGTERM,), (signal.SIGINT,)


def cases() -> list[Case]:
    """The table of the cases."""
    modes = [("mox", mode) for mode in ("train", "eval", "predict")]
    modes += [("estimator", mode) for mode in ("train", "eval", "predict")]
    modes += [(dialect, "train") for dialect in ("keras", "flow", "session", "queues")]
    found = []
    for dialect, mode in modes:
        # The end comes while native threads read ahead.
        found += [Case(dialect, mode, kind) for kind in ("slow", *WAITS)]
        found.append(Case(dialect, mode, "fails", codes=(1,)))
        for kind in WAITS:
            # Programs with sessions of their own die of SIGTERM, as under TensorFlow 1.x.
            own = dialect in ("session", "queues")
            term = (143, -signal.SIGTERM) if own else (143,)
            found.append(Case(dialect, mode, kind, TERM, term))
            # Where it waits in native code, the first Ctrl-C says that a second one ends it.
            found.append(Case(dialect, mode, kind, CTRL_C * (1 + own), (130,)))
        # A flow program whose step does not end dies of the second Ctrl-C.
        twice = (130, -signal.SIGINT) if dialect == "flow" else (130,)
        found.append(Case(dialect, mode, "asleep", CTRL_C * 2, twice))
    # The launcher ends with the code of the task that failed first.
    killed = (128 + signal.SIGKILL,)
    found += [Case(name, "launch", "killed", codes=killed) for name in ("mox", "keras")]
    found.append(Case("estimator", "launch", "killed", codes=killed))
    return found


class Exit:
    """One run of a case.

    Args:
        case: the case.
        folder: an empty folder.
        fresh: whether the program starts a new interpreter.
    """

    def __init__(self, case: Case, folder: Path, fresh: bool) -> None:
        self._case, self._folder, self._fresh = case, folder, fresh
        self._output = folder / "output"

    def run(self) -> tuple[int | None, str]:
        """Returns the exit code, None if the program did not end, and the program's output."""
        process = self._start()
        try:
            self._signal(process)
            code: int | None = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            code = None
            process.send_signal(signal.SIGUSR1)  # The stacks go into the output.
            time.sleep(2.0)
        finally:
            process.kill()
            process.wait(60.0)
        return code, self._output.read_text(errors="replace")

    def _start(self) -> Any:
        case, program = self._case, self._folder / "program.py"
        # A program that gets a signal would train on, and waits for its data instead.
        steps = 1000 if case.event or case.kind in ("fails", "killed") else LAST // 2 - 1
        program.write_text(f"STEPS = {steps}\n" + INPUT + SOURCES[case.dialect])
        launch = ["launch", "--workers=2", "--max_restarts=0", "--logs", str(self._folder / "logs")]
        words = launch if case.mode == "launch" else ["run"]
        own = {
            "EXITS_INPUT": case.kind,
            "EXITS_MODE": "train" if case.mode == "launch" else case.mode,
            "EXITS_FOLDER": str(self._folder / "run"),
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "CUDA_VISIBLE_DEVICES": "-1",
            warm.WHOLE: "1",
        }
        start: Any = subprocess.Popen if self._fresh else warm.Popen
        around = dict(os.environ) if self._fresh else warm.forking()
        with open(self._output, "wb") as stream:
            return start(
                [sys.executable, "-m", "moxing", *words, str(program)],
                cwd=self._folder,
                env={**around, **own},
                stdout=stream,
                stderr=subprocess.STDOUT,
            )

    def _signal(self, process: Any) -> None:
        until = time.monotonic() + LIMIT
        while self._case.event and process.poll() is None:
            if "STOPS" in self._output.read_text(errors="replace"):
                break
            if time.monotonic() > until:
                return
            time.sleep(0.05)
        for number in self._case.event:
            time.sleep(random.uniform(0.1, 1.5))
            process.send_signal(number)


def judged(case: Case, code: int | None, output: str) -> str:
    """Says what is wrong with an exit; empty: nothing."""
    if code is None:
        return "did not end"
    if code in ABORTS or any(words in output for words in ABORTED):
        return f"aborted ({code})"
    return "" if code in case.codes else f"ended with {code} instead of {case.codes}"


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Runs processes that do nothing but take a processor."""
    spinning = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)
    ]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def main() -> int:
    """Runs the cases and prints what was found."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0], allow_abbrev=False
    )
    parser.add_argument("--exits", type=int, default=300, help="how many; default: 300")
    parser.add_argument("--load", type=int, default=0, help="processes that spin beside them")
    parser.add_argument("--at-once", type=int, default=4, help="exits at a time; default: 4")
    parser.add_argument("--minutes", type=float, default=600.0, help="starts none after that time")
    parser.add_argument("--case", default="", help="only cases whose name has these words")
    parser.add_argument("--fresh", action="store_true", help="a new interpreter for each program")
    parser.add_argument("--keep", metavar="DIR", help="folder for the output of wrong exits")
    given = parser.parse_args()
    table = [case for case in cases() if all(word in str(case) for word in given.case.split())]
    until, done, wrong = time.monotonic() + 60 * given.minutes, Counter(), Counter()
    codes: dict[str, Counter[int | None]] = {}
    lock, loads = threading.Lock(), []

    def one(case: Case) -> None:
        if time.monotonic() > until:
            return
        with tempfile.TemporaryDirectory(prefix="exits-") as folder:
            code, output = Exit(case, Path(folder), given.fresh).run()
            why = judged(case, code, output)
            with lock:
                loads.append(os.getloadavg()[0])
                codes.setdefault(str(case), Counter())[code] += 1
                done[why.split(" ")[0] or "right"] += 1
                if sum(done.values()) % 10 == 0:
                    print(f"{sum(done.values())} exits: {dict(done)}", flush=True)
                if why:
                    wrong[why.split(" ")[0]] += 1
                    print(f"{case}: {why}", flush=True)
                    if given.keep:
                        target = Path(given.keep) / f"{len(loads)} {case}"
                        shutil.copytree(folder, target, dirs_exist_ok=True)

    wanted = [case for _ in range(-(-given.exits // len(table))) for case in shuffled(table)]
    if not given.fresh:
        warm.forking()  # Starts the process that forks, before threads ask for it.
    with busy(given.load), ThreadPoolExecutor(given.at_once) as pool:
        list(pool.map(one, wanted[: given.exits]))
    for name, ends in sorted(codes.items()):
        print(f"{name}: " + ", ".join(f"{code} x {count}" for code, count in ends.items()))
    load = f"load {min(loads):.0f} to {max(loads):.0f}" if loads else ""
    print(f"{sum(done.values())} exits, {load}: {dict(done)}")
    return int(bool(wrong))


def shuffled(table: list[Case]) -> list[Case]:
    """The cases in random order."""
    return random.sample(table, len(table))


if __name__ == "__main__":
    sys.exit(main())
