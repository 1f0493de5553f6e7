"""A run that goes on reads the samples, and reaches the weights, of one that was not stopped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.manifest import read_extra
from moxing.engine.checkpoint.restoring.source import locate
from moxing.engine.data import position
from moxing.engine.job.updating import Updating

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import adam, execute, generated, messages, once, same, values  # noqa: E402

D = tf.data.Dataset
E = tf.data.experimental
Make = Callable[[], Any]


def floats(data: Any) -> Any:
    return data.map(lambda x: tf.cast(x, tf.float32))


def table() -> tf.lookup.StaticHashTable:
    keys = tf.range(64, dtype=tf.int64)
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, keys * 3), -1)


def doubled() -> Any:
    return D.range(24).shuffle(24).repeat().map(lambda x: x * 2, num_parallel_calls=4)


def interleaved() -> Any:
    return D.range(6).shuffle(6).repeat().interleave(lambda x: D.range(x, x + 9), cycle_length=3)


PIPELINES: dict[str, Make] = {
    "shuffled": lambda: floats(doubled()).batch(3).prefetch(2),
    "interleaved": lambda: floats(interleaved().shuffle(20)).batch(3),
    "cached": lambda: floats(D.range(10).cache().repeat().shuffle(5)).batch(3),
    "looked up": lambda: floats(D.range(30).shuffle(30).repeat().map(table().lookup)).batch(3),
    "sampled": lambda: floats(
        D.sample_from_datasets([D.range(9).repeat(), D.range(90, 99).repeat()], [0.5, 0.5])
    ).batch(3),
    "in Python": lambda: (
        D.range(40)
        .shuffle(9)
        .map(lambda x: tf.ensure_shape(tf.py_func(np.float32, [x], tf.float32), []))
    ),
}


def one_shot(make: Make) -> Callable[[str], Any]:
    return lambda mode: once(make()).get_next()


def initialized(make: Make) -> Callable[[str], Any]:
    def input_fn(mode: str) -> Any:
        iterator = tf.data.make_initializable_iterator(make())
        tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
        return iterator.get_next()

    return input_fn


def dataset(make: Make) -> Callable[[str], Any]:
    return lambda mode: make()


def reader(kind: Callable[[Make], Callable[[str], Any]], make: Make) -> Callable[[], Any]:
    return lambda: {"input_fn": kind(make)}


def resumed(
    folder: Path, data: Callable[[], Any], stops: tuple[int, ...] = (5, 9), last: int = 20
) -> tuple[str, str]:
    """The last checkpoints of a run in one go, and of one that was stopped at steps."""
    whole = execute(log_dir=folder / "whole", max_steps=stops[0], optimizer_fns=[adam], **data())
    order = read_extra(locate(str(whole.checkpoint)))["input_order"]
    with pytest.MonkeyPatch.context() as patch:  # The same draw, where a run has no seed.
        patch.setattr("secrets.randbits", lambda bits: order)
        whole = execute(log_dir=folder / "one", max_steps=last, optimizer_fns=[adam], **data())
    for stop in (*stops[1:], last):
        parts = execute(log_dir=folder / "whole", max_steps=stop, optimizer_fns=[adam], **data())
    return str(whole.checkpoint), str(parts.checkpoint)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("shuffled", one_shot),
        ("interleaved", dataset),
        ("cached", initialized),
        ("looked up", initialized),
        ("sampled", one_shot),
        ("in Python", dataset),
    ],
)
def test_every_pipeline_goes_on_at_its_next_element(
    tmp_path: Path, log: pytest.LogCaptureFixture, name: str, kind: Any
) -> None:
    whole, parts = resumed(tmp_path, reader(kind, PIPELINES[name]))
    assert same(values(whole), values(parts))
    told = " ".join(messages(log))
    assert "starts from its beginning" not in told
    assert "Skipped" not in told


def test_batches_and_devices_go_on_too(tmp_path: Path) -> None:
    def data() -> dict[str, Any]:
        fields = {"make_batches": True, "batch_size": 2, "devices": 2}
        return {"input_fn": one_shot(lambda: floats(D.range(30).shuffle(30).repeat())), **fields}

    whole, parts = resumed(tmp_path, data, last=12)
    assert same(values(whole), values(parts))


def test_steps_of_several_batches_go_on_too(tmp_path: Path) -> None:
    def data(source: Any) -> Callable[[], Any]:
        return lambda: {"input_fn": source, "updating": Updating(accumulate=3)}

    for name, source in (("s", one_shot(PIPELINES["shuffled"])), ("g", generated(count))):
        whole, parts = resumed(tmp_path / name, data(source), stops=(3,), last=6)
        assert same(values(whole), values(parts))


def test_two_iterators_and_random_numbers_of_a_seed(tmp_path: Path) -> None:
    def input_fn(mode: str) -> Any:
        first = once(floats(D.range(20).shuffle(20).repeat())).get_next()
        return [first + once(floats(D.range(7).repeat())).get_next() + tf.random_uniform([])]

    def data() -> dict[str, Any]:
        return {"input_fn": input_fn, "seed": 3, "make_batches": True, "batch_size": 2}

    whole, parts = resumed(tmp_path, data)
    assert same(values(whole), values(parts))


def count() -> Iterator[float]:
    number = 0.0
    while True:
        yield number
        number += 1


def test_a_generator_is_read_again_up_to_its_place(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    whole, parts = resumed(tmp_path, lambda: {"input_fn": generated(count)})
    assert same(values(whole), values(parts))
    told = [line for line in messages(log) if line.startswith("Skipped")]
    assert told == [
        f"Skipped the data of the {steps} steps before, T: it was read again and dropped, because"
        " TensorFlow can't save a Python generator."
        for steps in (5, 9)
    ]


def changed(make: Make, tmp_path: Path) -> None:
    execute(log_dir=tmp_path, max_steps=5, input_fn=one_shot(PIPELINES["shuffled"]))
    execute(log_dir=tmp_path, max_steps=8, input_fn=one_shot(make))


@pytest.mark.parametrize(
    "make",
    [
        lambda: floats(doubled()).batch(4).prefetch(2),
        lambda: floats(doubled().filter(lambda x: x > 2)).batch(3),
        lambda: floats(D.range(24).shuffle(20).repeat().map(lambda x: x * 2)).batch(3),
        lambda: floats(D.range(24).shuffle(24).repeat().map(lambda x: x * 3)).batch(3),
    ],
)
def test_a_changed_pipeline_is_noticed(
    tmp_path: Path, log: pytest.LogCaptureFixture, make: Make
) -> None:
    changed(make, tmp_path)
    assert (
        "the data of this run starts from its beginning, though an earlier run took 5 steps of it:"
        " the pipeline is not that of the checkpoint (other operations, shapes, or numbers such as"
        " the size of a batch)"
    ) in messages(log)


def test_other_arrays_are_read_from_the_same_place(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    """TensorFlow's state of an iterator holds its arrays, which would be read on."""

    def input_fn(first: float) -> Callable[[str], Any]:
        array = np.arange(40, dtype=np.float32) + np.float32(first)
        return dataset(lambda: D.from_tensor_slices(array).batch(2))

    def train(first: float, steps: int) -> None:
        execute(log_dir=tmp_path, max_steps=steps, input_fn=input_fn(first))

    train(0.0, 4)
    train(0.0, 8)
    assert not [line for line in messages(log) if "can't be read" in line]
    train(100.0, 12)
    told = [line for line in messages(log) if "can't be read" in line]
    assert len(told) == 1
    assert "it holds the data of then, and input_fn has other data now" in told[0]


def test_another_prefetch_or_parallelism_is_the_same_pipeline(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    def faster() -> Any:
        numbers = D.range(24).shuffle(24).repeat()
        return floats(numbers.map(lambda x: x * 2, num_parallel_calls=2)).batch(3).prefetch(9)

    changed(faster, tmp_path)
    assert "starts from its beginning" not in " ".join(messages(log))


@pytest.mark.parametrize("known", [True, False])
def test_large_buffers_are_not_saved_but_read_again(
    tmp_path: Path,
    log: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    known: bool,
) -> None:
    monkeypatch.setattr(position, "LARGEST", 40_000)

    def wide(number: tf.Tensor) -> tf.Tensor:
        shape = [1000] if known else tf.fill([1], tf.random_uniform([], 1000, 1001, tf.int32))
        return tf.random.stateless_uniform(shape, [number, 0])  # State is compressed.

    make = reader(one_shot, lambda: D.range(30).map(wide).shuffle(30).repeat())
    whole, parts = resumed(tmp_path, make)
    assert same(values(whole), values(parts))
    told = messages(log)
    assert (
        told.count(
            "Checkpoints keep the place in the data of input_fn by the number of its steps, because"
            " its buffers hold more than 0 MB: a run that goes on reads the data before it again."
        )
        == 4
    )
    assert not list(tmp_path.glob("*/*.input"))
    assert sum(line.startswith("Skipped the data of the 9 steps before") for line in told) == 1


def test_state_that_is_gone_or_damaged_is_replaced_by_reading_again(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    data = reader(one_shot, PIPELINES["shuffled"])
    weights: list[Any] = []
    for damage in (None, lambda file: file.unlink(), lambda file: file.write_bytes(b"torn")):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("secrets.randbits", lambda bits: 7)
            log_dir = tmp_path / str(len(weights))
            execute(log_dir=log_dir, max_steps=5, **data())
            if damage is not None:
                damage(log_dir / "model.ckpt-5.input")
            weights.append(values(execute(log_dir=log_dir, max_steps=12, **data()).checkpoint))
    assert same(weights[0], weights[1])
    assert same(weights[0], weights[2])
    told = " ".join(messages(log))
    assert told.count("Skipped the data of the 5 steps before, T") == 2
    told_of = "The place in the input can't be read from "
    assert f"{told_of}{tmp_path}/1/model.ckpt-5.input: No such file or directory." in told
    assert f"{told_of}{tmp_path}/2/model.ckpt-5.input: it is damaged, or of" in told


def test_state_that_can_not_be_saved_fails_no_run(
    tmp_path: Path, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moxing.engine.data.pipelines._SAVED", {"GeneratorDataset"})
    monkeypatch.setattr("moxing.engine.data.pipelines.Pipeline.refusal", lambda self: None)
    assert execute(log_dir=tmp_path, max_steps=3, input_fn=generated(count)).global_step == 3
    assert "because GeneratorDataset does not support checkpointing" in " ".join(messages(log))


def test_a_queue_says_that_it_starts_over(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    def input_fn(mode: str) -> tf.Tensor:
        return tf.train.input_producer(tf.range(9.0), shuffle=False).dequeue()

    for steps in (3, 5):
        execute(log_dir=tmp_path, max_steps=steps, input_fn=input_fn)
    assert (
        "the data of this run starts from its beginning, though an earlier run took 3 steps of it:"
        " it comes from a queue, which reads ahead"
    ) in messages(log)


def test_a_seed_of_the_program_and_other_orders_stay(tmp_path: Path) -> None:
    def weights(name: str, seed: int | None) -> Any:
        def input_fn(mode: str) -> tf.Tensor:
            return once(floats(D.range(50).shuffle(50, seed=seed))).get_next()

        return values(execute(log_dir=tmp_path / name, input_fn=input_fn).checkpoint)

    assert same(weights("a", 4), weights("b", 4))
    assert not same(weights("c", None), weights("d", None))


def test_other_programs_read_such_a_checkpoint(tmp_path: Path) -> None:
    saved = execute(log_dir=tmp_path, input_fn=one_shot(PIPELINES["shuffled"])).checkpoint
    assert Path(f"{saved}.input").stat().st_size > 500
    assert tf.train.latest_checkpoint(str(tmp_path)) == saved
    with tf.Graph().as_default(), tf.Session() as session:
        weights = tf.get_variable("w", [2])
        tf.train.Saver([weights]).restore(session, str(saved))
        assert np.array_equal(session.run(weights), values(saved)["w"])
    execute(log_dir=tmp_path, max_steps=60, save_steps=5, input_fn=one_shot(PIPELINES["cached"]))
    assert len(list(tmp_path.glob("*.input"))) == len(list(tmp_path.glob("*.index"))) == 5
