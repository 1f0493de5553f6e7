"""A signal in a step that waits for data saves the step before it, and the run leaves."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest

from moxing.engine.checkpoint.restoring.newest import newest

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import execute, numbers, once, same, values  # noqa: E402
from waiting import counting, halves  # noqa: E402
from zygote import Zygote  # noqa: E402

pytestmark = pytest.mark.slow

# The input waits in step 6, behind a save at step 3.
WAITS = """
import sys, threading
from moxing import logs
from moxing.engine.run import beside
from runs import execute, once
from waiting import counting, halves
logs.reset_logger()
beside.PATIENCE = float(sys.argv[2])
beside.PATIENCE_UNSAVED = 0.5

def wait():
    print("WAITS", flush=True)
    threading.Event().wait()

"""
TRAINS = """
execute(
    log_dir=sys.argv[1], input_fn={}, model_fn=counting, max_steps=99, save_steps=3, log_every=1
)
"""
PIPELINE = TRAINS.format("lambda mode: once(halves(5, wait)).get_next()")
QUEUE = """
import tensorflow.compat.v1 as tf

def input_fn(mode):
    return tf.train.batch([once(halves(5, wait)).get_next()], 2, num_threads=1, capacity=2)

""" + TRAINS.format("input_fn")
IN_THE_STEP = """
import tensorflow.compat.v1 as tf

taken = []

def take():
    taken.append(1)
    if len(taken) > 5:
        wait()
    return 1.0

def input_fn(mode):
    number = tf.py_func(take, [], tf.float64)
    number.set_shape([])
    return tf.cast(number, tf.float32)

""" + TRAINS.format("input_fn")


def stopped(zygote: Zygote, folder: Path, program: str, last: str = "step: 4(") -> str:
    """What a program says that gets a signal in the step behind its `last` line."""
    child = zygote.start(WAITS + program, folder / "output", folder / "run", 0.3)
    child.wait_for(last)
    child.wait_for("WAITS")
    time.sleep(0.3)
    began = time.monotonic()
    child.send(signal.SIGTERM)
    assert child.code() == 143, child.text
    assert time.monotonic() - began < 30.0
    return child.text


def saved_step(folder: Path) -> int:
    found = newest(folder / "run")
    assert found is not None
    assert found.step is not None
    return found.step


def test_a_pipeline_goes_on_from_its_last_state_and_reads_what_came_behind(
    zygote: Zygote, tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    text = stopped(zygote, tmp_path, PIPELINE)
    assert "The step after step 5 still waits for its data: leaving without it." in text
    assert f"Stopped by SIGTERM at step 5, which is saved: {tmp_path}/run/model.ckpt-5." in text
    assert '"end": "stopped by SIGTERM"' in (tmp_path / "run" / "run.json").read_text()
    taken: list[int] = []
    settings = {"model_fn": counting, "save_steps": 3, "max_steps": 8}
    data = {"input_fn": lambda mode: once(halves(5, lambda: None, taken)).get_next()}
    whole = execute(log_dir=tmp_path / "whole", **settings, **data)
    assert taken[:5] == [0, 1, 2, 3, 4]
    part = execute(log_dir=tmp_path / "part", **{**settings, "max_steps": 5}, **data)
    assert same(values(f"{tmp_path}/run/model.ckpt-5"), values(part.checkpoint))
    taken.clear()
    resumed = execute(log_dir=tmp_path / "run", **settings, **data)
    assert taken[0] >= 3, "what was taken before the last state is not read again"
    assert same(values(resumed.checkpoint), values(whole.checkpoint))
    assert any(
        line.startswith("Skipped the data of the 2 steps before, in ")
        and line.endswith(
            "because the earlier run was stopped while its input waited, and could"
            " not tell its state."
        )
        for line in log.messages
    )


@pytest.mark.parametrize("program", [QUEUE, IN_THE_STEP])
def test_queues_and_python_in_the_step_are_left_too(
    zygote: Zygote, tmp_path: Path, program: str
) -> None:
    stopped(zygote, tmp_path, program, "step: 1(" if program is QUEUE else "step: 4(")
    step = saved_step(tmp_path)
    assert step == (2 if program is QUEUE else 5)
    assert values(f"{tmp_path}/run/model.ckpt-{step}")["counter"] == step


def test_a_step_that_goes_on_meanwhile_is_saved_by_itself(zygote: Zygote, tmp_path: Path) -> None:
    program = """
import time
from moxing.engine.run.commits import Commits
before, come = Commits._older_place, threading.Event()

def late(self, step, holds):
    come.set()
    while holds():
        time.sleep(0.01)
    return before(self, step, holds)

def wait():
    print("WAITS", flush=True)
    come.wait()

Commits._older_place = late
execute(
    log_dir=sys.argv[1], input_fn=lambda mode: once(halves(5, wait)).get_next(), save_steps=3,
    model_fn=counting, max_steps=99, log_every=1,
)
"""
    text = stopped(zygote, tmp_path, program)
    assert "SIGTERM: stopping after this step." in text
    step = saved_step(tmp_path)
    assert step > 5
    assert values(f"{tmp_path}/run/model.ckpt-{step}")["counter"] == step
    assert not list((tmp_path / "run").glob("model.ckpt-5*"))


def test_where_nothing_is_new_or_to_be_saved_the_run_just_leaves(
    zygote: Zygote, tmp_path: Path
) -> None:
    data = "input_fn=lambda mode: once(halves({}, wait)).get_next(), max_steps=9"
    first = f"execute(log_dir=sys.argv[1], {data.format(0)})"
    assert "Stopped by SIGTERM at step 0, which is saved" in stopped(zygote, tmp_path, first, "")
    assert saved_step(tmp_path) == 0
    evaluates = f"execute(mode='EVAL', untrained=True, {data.format(5)})"
    (tmp_path / "output").unlink()
    assert "Stopped" not in stopped(zygote, tmp_path, evaluates, "")


def test_the_count_of_steps_that_have_begun_is_no_part_of_a_checkpoint(tmp_path: Path) -> None:
    made = execute(log_dir=tmp_path, input_fn=numbers(9))
    assert set(values(made.checkpoint)) == {"global_step", "w", "w/Momentum"}
