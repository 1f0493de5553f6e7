"""Summaries are written where they are due, read back by TensorFlow, and never end a run."""

from __future__ import annotations

import glob
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.reporting.summaries import SummaryWriter, open_summaries


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def _events(folder: Path) -> list[Any]:
    files = sorted(glob.glob(str(folder / "events.out.tfevents.*")))
    return [event for file in files for event in tf.train.summary_iterator(file)]


def _scalars(folder: Path) -> list[tuple[int, str, float]]:
    return [
        (event.step, value.tag, value.simple_value)
        for event in _events(folder)
        for value in event.summary.value
    ]


def test_a_run_is_read_back(graph: tf.Graph, tmp_path: Path) -> None:
    step = tf.placeholder(tf.float32, [])
    tf.summary.scalar("squared", step * step)
    summaries = open_summaries(str(tmp_path / "new"), graph, 2, {"loss": step + 0.5})
    assert not (tmp_path / "new").exists()
    graph.finalize()
    with tf.Session() as session:
        summaries.start(0)
        for number in range(5):
            if summaries.due(number):
                summaries.write(number, session.run(summaries.op, {step: number}))
        summaries.scalar(4, "global_step/sec", np.float32(12.5))
        summaries.close()
    assert _scalars(tmp_path / "new") == [
        (0, "squared", 0.0),
        (0, "loss", 0.5),
        (2, "squared", 4.0),
        (2, "loss", 2.5),
        (4, "squared", 16.0),
        (4, "loss", 4.5),
        (4, "global_step/sec", 12.5),
    ]


def test_the_head_of_the_file(graph: tf.Graph, tmp_path: Path) -> None:
    data = np.arange(100_000, dtype=np.float32)
    tf.reduce_sum(tf.constant(data, name="data"), name="sum")
    tf.data.Dataset.range(3).map(lambda i: tf.constant(data)[i]).batch(2)
    summaries = open_summaries(str(tmp_path), graph, 1)
    summaries.start(250)
    summaries.start(300)
    summaries.close()
    (file,) = tmp_path.iterdir()
    assert file.stat().st_size < 20_000
    version, drawing, start = _events(tmp_path)
    assert version.file_version == "brain.Event:2"
    nodes = {node.name: node for node in tf.GraphDef.FromString(drawing.graph_def).node}
    assert nodes["sum"].input[0] == "data"
    assert nodes["data"].attr["value"].tensor.tensor_shape.dim[0].size == 100_000
    assert (start.session_log.status, start.step) == (tf.SessionLog.START, 250)
    assert min(event.wall_time for event in _events(tmp_path)) > 1e9


def test_the_first_value_starts_a_run_that_nobody_started(graph: tf.Graph, tmp_path: Path) -> None:
    summaries = open_summaries(str(tmp_path), graph, 1)
    summaries.scalar(7, "a", 1.0)
    summaries.close()
    assert [e.step for e in _events(tmp_path) if e.session_log.status == tf.SessionLog.START] == [7]


def test_runs_of_one_second_keep_their_own_files(graph: tf.Graph, tmp_path: Path) -> None:
    for step in (0, 5):
        summaries = open_summaries(str(tmp_path), graph, 5)
        summaries.start(step)
        summaries.scalar(step, "a", step)
        summaries.close()
    assert len(list(tmp_path.iterdir())) == 2
    assert sorted(_scalars(tmp_path)) == [(0, "a", 0.0), (5, "a", 5.0)]


@pytest.mark.parametrize(("every", "steps"), [(3, [0, 3, 6]), (1, list(range(8)))])
def test_due(graph: tf.Graph, tmp_path: Path, every: int, steps: list[int]) -> None:
    tf.summary.scalar("a", 1.0)
    summaries = open_summaries(str(tmp_path), graph, every)
    assert [step for step in range(8) if summaries.due(step)] == steps


@pytest.mark.parametrize("every", [None, 0])
def test_no_interval_no_values_of_the_graph(
    graph: tf.Graph, tmp_path: Path, every: int | None
) -> None:
    tf.summary.scalar("a", 1.0)
    summaries = open_summaries(str(tmp_path), graph, every)
    assert summaries.op is None
    assert not summaries.due(0)


def test_no_directory_no_files(
    graph: tf.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tf.summary.scalar("a", 1.0)
    before = len(graph.get_operations())
    summaries = open_summaries(None, graph, 1)
    summaries.start(0)
    summaries.scalar(0, "b", 1.0)
    summaries.close()
    assert summaries.op is None
    assert not summaries.due(0)
    assert len(graph.get_operations()) == before
    assert not list(tmp_path.iterdir())


def test_no_summaries(graph: tf.Graph, tmp_path: Path) -> None:
    assert open_summaries(str(tmp_path), graph, 1).op is None


def test_automatic_summaries_leave_the_users_alone(graph: tf.Graph, tmp_path: Path) -> None:
    tf.summary.scalar("loss", 1.0)
    with tf.name_scope("later"):
        values = {
            "loss": tf.constant(9.0),
            "count": tf.constant(3),
            "right": tf.constant(True),
            "name": tf.constant("x"),
        }
        summaries = open_summaries(str(tmp_path), graph, 1, values)
    with tf.Session() as session:
        summaries.write(0, session.run(summaries.op))
    summaries.close()
    assert _scalars(tmp_path) == [(0, "loss", 1.0), (0, "count", 3.0), (0, "right", 1.0)]
    assert len(graph.get_collection(tf.GraphKeys.SUMMARIES)) == 1


def test_logged_values_leave_the_programs_tags_and_what_is_due_alone(
    graph: tf.Graph, tmp_path: Path
) -> None:
    tf.summary.scalar("mine", 1.0)
    summaries = open_summaries(str(tmp_path), graph, 2, {"loss": tf.constant(4.0)})
    for step in range(2):
        summaries.logged(step, {"mine": 2.0, "loss": 3.0, "learning_rate": 0.5})
    summaries.logged(2, {"mine": 2.0})
    summaries.close()
    assert _scalars(tmp_path) == [
        (0, "learning_rate", 0.5),
        (1, "loss", 3.0),
        (1, "learning_rate", 0.5),
    ]


def test_every_kind_of_summary_is_merged(graph: tf.Graph, tmp_path: Path) -> None:
    tf.summary.histogram("h", tf.ones([3]))
    tf.summary.image("i", tf.zeros([1, 4, 4, 3]))
    tf.summary.text("t", tf.constant("words"))
    summaries = open_summaries(str(tmp_path), graph, 1)
    with tf.Session() as session:
        summaries.write(0, session.run(summaries.op))
    summaries.close()
    tags = {value.tag for event in _events(tmp_path) for value in event.summary.value}
    assert tags == {"h", "i/image/0", "t"}


WHERE = """
import logging, sys
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
from moxing.engine.reporting.summaries import open_summaries
logging.basicConfig(format="%(levelname)s:%(message)s")
with tf.Graph().as_default() as graph, tf.Session() as session:
    tf.summary.scalar("outside", 2.0)
    def branch():
        with tf.control_dependencies([tf.summary.scalar("inside", 1.0)]):
            return tf.constant(1.0)
    tf.cond(tf.constant(False), branch, lambda: tf.constant(2.0))
    summaries = open_summaries(sys.argv[1], graph, 1)
    summaries.write(0, session.run(summaries.op))
    summaries.close()
"""


@pytest.mark.slow
def test_what_no_session_can_fetch_is_left_out(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WHERE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert _scalars(tmp_path) == [(0, "outside", 2.0)]
    assert (
        "WARNING:These summaries were made inside tf.cond or tf.while_loop and can't be written:"
        " cond/inside. Make them of what the branch or loop returns."
    ) in done.stderr


def _use(summaries: SummaryWriter) -> None:
    summaries.start(0)
    for step in range(100):
        summaries.scalar(step, "a" * 1000, 1.0)
    summaries.close()
    summaries.close()


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_an_impossible_directory_is_said_once(
    graph: tf.Graph, tmp_path: Path, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    (tmp_path / "file").touch()
    with caplog.at_level(logging.INFO, "tensorflow"):
        _use(open_summaries(str(tmp_path / place), graph, 1))
    (line,) = caplog.messages
    assert line.startswith(f"Summaries can't be written to {tmp_path / place} (")
    assert line.endswith("). The run goes on without them.")
    assert os.listdir(tmp_path) == ["file"]


FULL = """
import logging, resource, sys
import tensorflow.compat.v1 as tf
from moxing.engine.reporting.summaries import Merged, SummaryWriter
logging.basicConfig(format="%(levelname)s:%(message)s")
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
ticks = iter(range(0, 100000, 20))
with tf.Graph().as_default() as graph:
    summaries = SummaryWriter(sys.argv[1], graph, Merged(), 1, clock=lambda: next(ticks))
    for step in range(100):
        summaries.scalar(step, "a" * 1000, 1.0)
    summaries.close()
print("went on")
"""


@pytest.mark.slow
def test_a_full_disk_is_said_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "went on\n"
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("WARNING:Summ")]
    assert line.startswith(f"WARNING:Summaries can't be written to {tmp_path} (")
    assert line.endswith("; File too large). The run goes on without them.")


def test_variables_become_histograms_of_their_names(graph: tf.Graph, tmp_path: Path) -> None:
    weights = tf.get_variable("layer/w", [100], initializer=tf.ones_initializer())
    tf.get_variable("other", [2], initializer=tf.zeros_initializer())
    summaries = open_summaries(str(tmp_path), graph, 1, {"odd <name>": 2.0 * weights[0]}, [weights])
    initialize = tf.global_variables_initializer()
    with tf.Session() as session:
        session.run(initialize)
        summaries.write(3, session.run(summaries.op))
        summaries.close()
    values = {value.tag: value for event in _events(tmp_path) for value in event.summary.value}
    assert set(values) == {"layer/w", "odd <name>"}
    histogram = values["layer/w"].histo
    assert (histogram.num, histogram.sum, histogram.min, histogram.max) == (100.0, 100.0, 1.0, 1.0)
    assert values["odd <name>"].simple_value == 2.0


def test_text_is_what_tensorboard_shows_as_text(graph: tf.Graph, tmp_path: Path) -> None:
    summaries = open_summaries(str(tmp_path), graph, 1)
    summaries.text(7, "job", "| a | b |")
    summaries.close()
    (event,) = [event for event in _events(tmp_path) if event.summary.value]
    (value,) = event.summary.value
    assert (event.step, value.tag) == (7, "job")
    assert value.metadata.plugin_data.plugin_name == "text"
    assert tf.make_ndarray(value.tensor).tolist() == [b"| a | b |"]
