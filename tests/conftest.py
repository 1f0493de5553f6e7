"""What all tests share: quiet TensorFlow, no network, repeatable randomness, and data."""

from __future__ import annotations

import gc
import logging
import os
import random
import runpy
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import hypothesis
import numpy as np
import pytest

from moxing import flags, logs
from moxing.errors import MoxNotSupportedError
from moxing.flags import values
from moxing.launch.isolation import way_out

# Examples are the same in every run, and a busy machine fails none of them. To look further:
# pytest --hypothesis-profile=explore
hypothesis.settings.register_profile("same", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", max_examples=2000, deadline=None)
hypothesis.settings.load_profile("same")

# Before anything imports TensorFlow, and inherited by the processes that tests start.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

# While tests are collected, their compiled form is kept: else each worker of each run makes it.
WROTE_NO_BYTECODE = sys.dont_write_bytecode
sys.dont_write_bytecode = False

# A store that tests of several folders use.
sys.path.insert(0, str(Path(__file__).parent / "fixtures"))
pytest_plugins = ["stores"]

# Tests read the lines of a run as `mox run` prints them.
logs.take_over()

DIGITS = Path(__file__).parents[1] / "examples" / "digits" / "make_data.py"
FLOWERS = ("daisy", "dandelion", "roses", "sunflowers", "tulips")
LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")


def _loopback_only(connect: Callable[..., Any]) -> Callable[..., Any]:
    """`socket.connect` that refuses to leave this machine."""

    def guarded(self: socket.socket, address: Any) -> Any:
        internet = self.family in (socket.AF_INET, socket.AF_INET6)
        if internet and not str(address[0]).startswith(LOOPBACK):
            raise OSError(f"tests have no network, and this one connects to {address}")
        return connect(self, address)

    return guarded


@pytest.fixture(autouse=True, scope="session")
def no_network() -> None:
    """In this process only loopback can be reached, on the build machine as at home."""
    socket.socket.connect = _loopback_only(socket.socket.connect)  # type: ignore[method-assign]
    socket.socket.connect_ex = _loopback_only(socket.socket.connect_ex)  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def kept_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that are called in this process leave it in the network of the servers of tests.

    A job's own network would be entered for good.
    """

    def refused(*_: Any) -> NoReturn:
        raise MoxNotSupportedError("the process of the tests stays in its network")

    monkeypatch.setattr(way_out, "enter", refused)


@pytest.fixture(autouse=True)
def kept_flags(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The runtime flags have their defaults, as if the command line held none."""
    monkeypatch.setattr(values, "_GIVEN", values._Given(complete=True))
    before = {spec.name: flags.get_flag(spec.name) for spec in flags.TABLE}
    yield
    for name, value in before.items():
        setattr(values._VALUES, name, value)


@pytest.fixture(autouse=True)
def kept_control_flow() -> Iterator[None]:
    """Conditions and loops are built as TensorFlow 2.x does, whatever a test before asked for."""
    yield
    if "tensorflow" in sys.modules:
        sys.modules["tensorflow"].compat.v1.enable_control_flow_v2()


@pytest.fixture(autouse=True)
def same_randomness() -> None:
    """Every test starts from one seed; a graph of TensorFlow's needs `tf.set_random_seed` too."""
    _seed()


def pytest_collection_finish() -> None:
    """Garbage is looked for among what tests make, not among all that was imported before."""
    sys.dont_write_bytecode = WROTE_NO_BYTECODE
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)  # Graphs are made of many small objects.


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call() -> None:
    """Behind the fixtures again: pytest-randomly sets a seed of its own right before the call."""
    _seed()


def _seed() -> None:
    random.seed(0)
    np.random.seed(0)
    if "tensorflow" in sys.modules:
        sys.modules["tensorflow"].random.set_seed(0)


@pytest.fixture(params=["control flow v1", "control flow v2"])
def control_flow(request: pytest.FixtureRequest) -> str:
    """Both ways in which TensorFlow can build `tf.cond` and `tf.while_loop`."""
    import tensorflow.compat.v1 as tf

    (tf.disable_control_flow_v2 if request.param.endswith("1") else tf.enable_control_flow_v2)()
    return request.param


@pytest.fixture(scope="session")
def real_data() -> bool:
    """Whether `data_dir` holds real MNIST and photographs, so that accuracies mean something."""
    return bool(os.environ.get("MOX_TEST_DATA"))


@pytest.fixture(scope="session")
def data_dir(real_data: bool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `mnist/` (four idx .gz files) and `flowers/{train,eval}/<class>/*.jpg`.

    The folder that MOX_TEST_DATA names; where it names none, small generated data of that layout.
    Tests must not write into it.
    """
    if real_data:
        return Path(os.environ["MOX_TEST_DATA"]).resolve()
    folder = tmp_path_factory.mktemp("data")
    _write_digits(folder / "mnist")
    _write_flowers(folder / "flowers")
    return folder


def _write_digits(folder: Path) -> None:
    """Real digits in MNIST's layout, shifted copies too: old programs hold 5,000 for validation."""
    digits = runpy.run_path(str(DIGITS))
    for split, (images, labels) in digits["load"]().items():
        shifts = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)] if split == "train" else [(0, 0)]
        moved = np.concatenate([np.roll(images, shift, axis=(1, 2)) for shift in shifts])
        digits["write_split"](folder, split, moved, np.tile(labels, len(shifts)))


def _write_flowers(folder: Path) -> None:
    """Noisy pictures of different sizes, colored by class: 16 a class to train on, 4 to test."""
    import tensorflow.compat.v1 as tf

    chance = np.random.default_rng(0)
    with tf.Graph().as_default(), tf.Session() as session:
        pixels = tf.placeholder(tf.uint8, [None, None, 3])
        encode = session.make_callable(tf.image.encode_jpeg(pixels), [pixels])
        for split, count in (("train", 16), ("eval", 4)):
            for label, name in enumerate(FLOWERS):
                (folder / split / name).mkdir(parents=True)
                for number in range(count):
                    size = chance.integers(64, 128, 2)
                    color = chance.integers(0, 60, (*size, 3)) + np.array([40 * label, 90, 150])
                    jpeg = encode(color.astype(np.uint8))
                    (folder / split / name / f"{number}.jpg").write_bytes(jpeg)


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[str], list[str]]]:
    """`said("step:")`: the messages of TensorFlow's logger so far that hold this text."""

    def messages(text: str = "") -> list[str]:
        found = [record for record in caplog.records if record.name == "tensorflow"]
        return [record.getMessage() for record in found if text in record.getMessage()]

    with caplog.at_level(logging.INFO, "tensorflow"):
        yield messages


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose folders are buckets, with the bucket `bucket`."""
    (tmp_path / "store" / "bucket").mkdir(parents=True)
    monkeypatch.setenv("MOX_FILE_S3_ROOT", str(tmp_path / "store"))
    monkeypatch.setenv("MOX_FILE_CACHE_DIR", str(tmp_path / "staging"))
    return tmp_path / "store"
