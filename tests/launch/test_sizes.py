"""A job goes on with other numbers of workers, and each sample is seen once an epoch."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import warm

pytestmark = pytest.mark.slow
LIMIT = 240.0
SAMPLES, BATCH = 60, 4
Seen = dict[int, list[int]]
# Workers, and the step at which they stop: 40, 12, 48, 16 and 8 samples.
PHASES = ((2, 5), (1, 8), (3, 12), (2, 14), (1, 16))
PROGRAM = """
import os, sys
import tensorflow as tf
import moxing.tensorflow as mox

kind, steps = sys.argv[1], int(sys.argv[2])
workers = len(mox.get_flag("worker_hosts").split(","))
index = mox.get_flag("task_index")

def of_reader():
    dataset = mox.get_tfrecord(
        dataset_dir="records", file_pattern="*.tfrecord",
        keys_to_features={"x": tf.FixedLenFeature([], tf.int64)},
        items_to_handlers={"x": tf.contrib.slim.tfexample_decoder.Tensor("x")})
    return dataset.get(["x"])

def of_dataset():
    numbers = tf.data.Dataset.range(SAMPLES).shuffle(SAMPLES, seed=5).repeat()
    return numbers.shard(workers, index).map(lambda x: x + 0, num_parallel_calls=2).prefetch(4)

def input_fn(mode):
    return of_reader() if kind == "reader" else of_dataset()

def model_fn(inputs, mode):
    numbers = tf.reshape(inputs[0], [-1])
    seen = tf.print(tf.train.get_global_step(), numbers, summarize=-1,
                    output_stream=f"file://seen-{steps}-{index}")
    with tf.control_dependencies([seen]):
        loss = tf.get_variable("w", []) * tf.reduce_mean(tf.cast(numbers, tf.float32)) * 1e-3
    return mox.ModelSpec(loss=loss, log_info={"loss": loss})

mox.run(input_fn, model_fn=model_fn, optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=1e-6),
        run_mode=mox.ModeKeys.TRAIN, batch_size=BATCH, log_dir="log", max_number_of_steps=steps)
""".replace("SAMPLES", str(SAMPLES)).replace("BATCH", str(BATCH))


def write(folder: Path) -> None:
    """Three files of records, of which no two have the same number of samples."""
    import tensorflow.compat.v1 as tf

    folder.mkdir()
    for name, first, last in (("a", 0, 13), ("b", 13, 42), ("c", 42, SAMPLES)):
        with tf.io.TFRecordWriter(str(folder / f"{name}.tfrecord")) as writer:
            for number in range(first, last):
                feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))
                features = tf.train.Features(feature={"x": feature})
                writer.write(tf.train.Example(features=features).SerializeToString())


def train(folder: Path, kind: str, workers: int, steps: int, *flags: str) -> tuple[Seen, str]:
    """Trains up to a step; the samples that all workers took in each step, and the job's lines."""
    words = ["launch", f"--workers={workers}", "--no-isolate", "--max_restarts=0"]
    said = folder / f"said-{steps}"
    with said.open("wb") as stream:
        job = warm.Popen(
            [sys.executable, "-m", "moxing", *words, "train.py", kind, str(steps), *flags],
            cwd=folder,
            env={**warm.forking(), "CUDA_VISIBLE_DEVICES": "-1"},
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
        code = job.wait(LIMIT)
    text = said.read_text(errors="replace")
    assert code == 0, text
    seen: Seen = {}
    for index in range(workers):
        for line in (folder / f"seen-{steps}-{index}").read_text().splitlines():
            step, _, numbers = line.partition(" ")
            seen.setdefault(int(step), []).extend(map(int, numbers.strip("[]").split()))
    assert all(len(numbers) == workers * BATCH for numbers in seen.values()), text
    return seen, text


def trained(folder: Path, kind: str, *flags: str) -> tuple[Seen, str]:
    """Trains in all phases."""
    write(folder / "records")
    (folder / "train.py").write_text(PROGRAM)
    seen: Seen = {}
    told = ""
    for workers, steps in PHASES:
        found, text = train(folder, kind, workers, steps, *flags)
        assert not found.keys() & seen.keys(), text
        seen |= found
        told += text
    assert sorted(seen) == list(range(PHASES[-1][1]))
    return seen, told


@pytest.mark.parametrize("flags", [(), ("--seed=3",)])
def test_readers_show_each_sample_once_an_epoch(flags: tuple[str, ...], tmp_path: Path) -> None:
    seen, _ = trained(tmp_path, "reader", *flags)
    counts: Counter[int] = Counter()
    for step in range(16):
        counts.update(seen[step])
        assert max(counts.values()) <= -(-sum(counts.values()) // SAMPLES), step
    assert min(counts.values()) == 2


def test_a_pipeline_that_workers_divide_goes_on_by_whole_steps(tmp_path: Path) -> None:
    """52 samples are no whole step of three workers of 4: 4 samples come again, as the log says."""
    seen, told = trained(tmp_path, "dataset")
    first = [number for step in range(8) for number in seen[step]]
    assert len(first) == len(set(first)) == 52
    assert set(first) & set(seen[8]) == set(seen[7])
    assert sorted({*first, *seen[8]}) == list(range(SAMPLES))
    # The second epoch is whole: no sample is left out for those that came again.
    rest = [number for step in range(9, 16) for number in seen[step]]
    assert sorted(rest) == list(range(SAMPLES))
    assert told.count("The 4 elements behind it, too few for a step, are taken once more.") == 3
