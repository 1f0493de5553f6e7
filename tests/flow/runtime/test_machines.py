"""Several machines, as processes on loopback: one program learns what one machine does, or says why
not on all of them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import warm

import moxing.flow as flow
from moxing.cluster.secret import Secret
from moxing.errors import MoxNotSupportedError, MoxRuntimeError, MoxTypeError, MoxValueError
from moxing.flow.core.record.record_pb2 import OFRecord
from moxing.flow.data import files
from moxing.flow.runtime import addresses, machine_group
from moxing.flow.runtime.settings import Settings
from moxing.flow.trace import context
from moxing.flow.trace.conf import JobConf
from moxing.flow.trace.exchange import Exchange
from moxing.flow.trace.topology import Topology
from moxing.flow.trace.variables import Variables
from moxing.launch.ports import free_ports

PROGRAM = """\
import argparse
import numpy as np
import moxing.flow as flow

parser = argparse.ArgumentParser()
parser.add_argument("-g", type=int, default=1)
parser.add_argument("-n", default="")
parser.add_argument("-load", default="")
parser.add_argument("-save", default="")
parser.add_argument("-data", default="records")
parser.add_argument("-steps", type=int, default=4)
parser.add_argument("-fail", action="store_true")
parser.add_argument("-late", action="store_true")
parser.add_argument("-first", type=int, default=0)
parser.add_argument("-width", type=int, default=16)
parser.add_argument("-parts", type=int, default=3)
args = parser.parse_args()
BATCH = 8
INIT = flow.random_normal_initializer(0, 0.1)
conf = flow.FunctionConfig()


def lenet(x, y):
    w = flow.get_variable("conv1", (4, 1, 5, 5), initializer=INIT)
    x = flow.nn.relu(flow.nn.conv2d(x, w, 1, "SAME", "NCHW", name="conv"))
    x = flow.nn.max_pool2d(x, 2, 2, "VALID", "NCHW")
    x = flow.layers.batch_normalization(x, 1, name="bn")
    x = flow.reshape(x, (BATCH, -1))
    x = flow.layers.dense(x, args.width, flow.nn.relu, kernel_initializer=INIT, name="fc1")
    x = x - flow.math.reduce_mean(x, 0, keepdims=True) * 0.1
    split = flow.distribute.split(0)
    x = flow.layers.dense(x, 5, kernel_initializer=INIT, name="fc2", model_distribute=split)
    return flow.nn.sparse_softmax_cross_entropy_with_logits(y, x)


IMAGES = flow.FixedTensorDef((BATCH, 1, 12, 12))
LABELS = flow.FixedTensorDef((BATCH,), flow.int32)


@flow.function
def train(x=IMAGES, y=LABELS):
    flow.config.train.primary_lr(0.1)
    clip = {"clip_by_global_norm": {"clip_norm": 0.05}}
    flow.config.train.model_update_conf({"momentum_conf": {}, "clip_conf": clip})
    print("traced")
    loss = lenet(x, y)
    flow.watch_diff(x, lambda value: print("gradient", float((value.ndarray() ** 2).sum())))
    flow.losses.add_loss(loss)
    if not args.save and not args.load:
        return loss, loss
    numbers = flow.data.BlobConf("n", (1,), flow.int32, flow.data.RawCodec())
    return loss, flow.data.decode_ofrecord(args.data, [numbers], 2, 3)[0]


@flow.function
def evaluate(x=IMAGES, y=LABELS):
    return flow.math.reduce_mean(lenet(x, y))


@flow.function
def read():
    numbers = flow.data.BlobConf("n", (1,), flow.int32, flow.data.RawCodec())
    return flow.data.decode_ofrecord(args.data, [numbers], 4, args.parts)[0]


@flow.function
def read_on_one_device():
    numbers = flow.data.BlobConf("n", (1,), flow.int32, flow.data.RawCodec())
    with flow.fixed_placement("cpu", "0:0"):
        noise = flow.data.decode_random((3,), flow.float, 2)
        numbers = flow.data.decode_ofrecord(args.data, [numbers], 4, 3)[0]
        return numbers + numbers, noise - flow.identity(noise)


@flow.function
def mirrored(x=flow.MirroredTensorDef((4, 3))):
    flow.config.train.primary_lr(0.1)
    flow.config.train.model_update_conf({"naive_conf": {}})
    w = flow.get_variable("mirrored", (3, 1), initializer=flow.ones_initializer())
    loss = flow.math.square(flow.math.reduce_sum(flow.matmul(x, w), 1))
    flow.losses.add_loss(loss)
    return loss, w


flow.config.gpu_device_num(args.g)
if args.n:
    flow.env.machine(args.n.split(","))
    flow.env.start_timeout(100 if args.steps else 1)
point = flow.train.CheckPoint()
point.load(args.load) if args.load else point.init()
random = np.random.default_rng(3)
for step in range(args.steps):
    x = random.normal(size=(BATCH, 1, 12, 12)).astype(np.float32)
    y = random.integers(0, 4, BATCH).astype(np.int32)
    if step < args.first:
        continue
    loss, taken = train(x, y).get()
    print("loss", loss.mean(), *taken.ravel(), flush=True)
    if step == 1 and args.save:
        point.save(args.save)
if args.late:
    read()  # Nobody waits for it.
    raise SystemExit(0)
print("eval", evaluate(x, y).get().mean())
own = [np.full((size, 3), size, np.float32) for size in (1, 4)]
print("mirrored", *(loss.sum() for loss in mirrored(own).get()[0].ndarray_list()))
print("mirrored", *mirrored(own).get()[1].ravel())
own[0] = own[0][:0]
print("empty", *mirrored(own).get()[0].ndarray_list()[0].shape, *mirrored(own).get()[1].ravel())
if args.fail:
    raise ValueError("mine")
numbers, nothing = read_on_one_device().get()
print("one", *numbers.ravel(), nothing.sum())
print("read", *read().get().ravel())
"""


class Fleet:
    """Processes of the program, each as one machine, with its output in files."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.processes = folder, dict[int, warm.Popen]()
        (folder / "program.py").write_text(PROGRAM)
        (folder / "records").mkdir()
        for part in range(3):
            with files.Writer(str(folder / "records" / f"part-{part}")) as writer:
                for number in (10 * part, 10 * part + 1):
                    record = OFRecord()
                    record.feature["n"].int32_list.value.append(number)
                    writer.write(record)
        shutil.copytree(folder / "records", folder / "store" / "bucket" / "records")
        self.addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]

    def start(self, machine: int | None, *arguments: str) -> None:
        """Starts a machine; None: a process without others."""
        number = machine or 0
        own = [] if machine is None else ["-n", ",".join(self.addresses)]
        with (
            open(self.folder / f"out{number}", "wb") as out,
            open(self.folder / f"err{number}", "wb") as err,
        ):
            self.processes[number] = warm.Popen(
                [sys.executable, "program.py", *own, *arguments],
                stdout=out,
                stderr=err,
                cwd=self.folder,
                env={
                    **os.environ,
                    addresses.VARIABLE: str(number),
                    "CUDA_VISIBLE_DEVICES": "-1",
                    "MOX_FILE_S3_ROOT": str(self.folder / "store"),
                },
            )

    def codes(self, seconds: float = 300) -> list[int]:
        """The exit codes of all, by number."""
        limit = time.monotonic() + seconds
        return [
            self.processes[n].wait(max(limit - time.monotonic(), 0.1))
            for n in sorted(self.processes)
        ]

    def lines(self, number: int) -> list[str]:
        return (self.folder / f"out{number}").read_text().splitlines()

    def error(self, number: int) -> str:
        return (self.folder / f"err{number}").read_text()

    def wait_for_steps(self, count: int) -> None:
        limit = time.monotonic() + 120
        while len([line for line in self.lines(0) if line.startswith("loss")]) < count:
            assert time.monotonic() < limit, self.error(0)
            assert self.processes[0].poll() is None, self.error(0)
            time.sleep(0.05)


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(tmp_path)
    yield made
    for process in made.processes.values():
        process.kill()
        process.wait()


def _numbers(lines: list[str]) -> np.ndarray:
    return np.array([float(word) for line in lines for word in line.split()[1:]])


@pytest.mark.slow
def test_two_machines_learn_and_read_what_two_devices_of_one_do(fleet: Fleet) -> None:
    data = "-data", "s3://bucket/records"
    for machine in (0, 1):
        fleet.start(machine, "-save", "s3://bucket/saved", *data)
    assert fleet.codes() == [0, 0], (fleet.error(0), fleet.error(1))
    found, rest = fleet.lines(0), [line for line in fleet.lines(0) if line != "traced"][4:]
    # Only the master prints and saves.
    assert fleet.lines(1) == []
    assert not (fleet.folder / "s3:").exists()
    assert "machine 1 serves until the program of machine 0 ends" in fleet.error(1)

    for machine in (0, 1):
        fleet.start(machine, "-load", "s3://bucket/saved", "-first", "2", *data)
    assert fleet.codes() == [0, 0], (fleet.error(0), fleet.error(1))
    again = fleet.lines(0)
    fleet.start(None, "-g", "2", "-load", "s3://bucket/saved", "-first", "2", *data)
    assert fleet.codes() == [0, 0], fleet.error(0)
    wanted = fleet.lines(0)

    assert [line.split()[0] for line in wanted] == [
        *("traced", "gradient", "loss", "gradient", "loss", "eval", "mirrored", "mirrored"),
        *("empty", "one", "read"),
    ]
    np.testing.assert_allclose(_numbers(rest), _numbers(wanted), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(_numbers(again), _numbers(wanted), rtol=1e-4, atol=1e-5)
    # A train job goes on with its records, each machine with its own: these are of steps 2 and 3.
    assert [line.split()[2:] for line in again if line.startswith("loss")] == [
        *(["10", "20"], ["11", "21"]),
    ]
    # The first has parts 0 and 1, the second part 2, which it begins again.
    assert found[-1] == wanted[-1] == "read 0 1 20 21"
    assert found[-2] == wanted[-2] == "one 0 2 20 22 0.0"


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_a_machine_that_dies_is_named_by_the_other_and_checkpoints_stay(
    fleet: Fleet, victim: int
) -> None:
    for machine in (0, 1):
        fleet.start(machine, "-steps", "1000000", "-save", "saved")
    fleet.wait_for_steps(4)
    fleet.processes[victim].send_signal(signal.SIGKILL)

    codes = fleet.codes()

    other = 1 - victim
    assert codes[victim] == -signal.SIGKILL
    assert codes[other] not in (0, -signal.SIGKILL)
    assert f"worker {victim} ({fleet.addresses[victim]}) died: connection lost" in fleet.error(
        other
    )
    # TensorFlow's own lines about steps that break off.
    assert not re.search("^[IWE]0000 ", fleet.error(other), re.MULTILINE), fleet.error(other)
    assert (fleet.folder / "saved" / "snapshot_done").is_file()
    assert not list(fleet.folder.glob(".saved*"))


@pytest.mark.slow
def test_machines_that_differ_say_in_what(fleet: Fleet) -> None:
    fleet.start(0, "-g", "1")
    fleet.start(1, "-g", "2")
    assert fleet.codes() == [1, 1]
    for machine in (0, 1):
        assert (
            "flow.config.gpu_device_num is 1 in worker 0 and 2 in worker 1. All tasks must be"
            " started alike." in fleet.error(machine)
        )


@pytest.mark.slow
def test_jobs_that_differ_say_in_what(fleet: Fleet) -> None:
    fleet.start(0)
    fleet.start(1, "-width", "20")
    assert fleet.codes() == [1, 1]
    for machine in (0, 1):
        assert (
            "machine 1 differs from machine 0: variable fc1-weight is float32 (16, 144) on machine"
            " 0 and float32 (20, 144) on machine 1. Start the same program with the same arguments"
            " on all machines." in fleet.error(machine)
        )


@pytest.mark.slow
def test_a_machine_that_does_not_come_is_named(fleet: Fleet) -> None:
    fleet.start(0, "-steps", "0")
    assert fleet.codes() == [1]
    assert re.search(
        rf"Gave up after [1-9] s: no sign of worker 1 \({fleet.addresses[1]}\)\. Check that each"
        r" of them was started, with these addresses, and that it can reach this one\.",
        fleet.error(0),
    )


@pytest.mark.slow
def test_an_error_of_one_machine_is_told_on_the_other(fleet: Fleet) -> None:
    for machine in (0, 1):
        fleet.start(machine, "-parts", "4")  # The fourth: only machine 1 reads it.
    assert 0 not in fleet.codes()
    sentence = "there is no part records/part-3, which machine 1 is to read."
    assert sentence in fleet.error(1)
    assert f"worker 1 ({fleet.addresses[1]}) failed: {sentence}" in fleet.error(0)


@pytest.mark.slow
def test_an_error_of_the_program_ends_the_other_machine_too(fleet: Fleet) -> None:
    for machine in (0, 1):
        fleet.start(machine, "-steps", "1", "-fail")
    assert fleet.codes() == [1, 143]
    assert fleet.error(0).rstrip().endswith("ValueError: mine")
    assert (
        f"worker 0 ({fleet.addresses[0]}) failed: ValueError: mine. So machine 1 ends."
        in fleet.error(1)
    )


@pytest.mark.slow
def test_an_error_of_a_last_step_that_nobody_waits_for_ends_both_machines(fleet: Fleet) -> None:
    part = fleet.folder / "records" / "part-0"  # One that machine 0 reads.
    part.write_bytes(part.read_bytes()[:-3])
    for machine in (0, 1):
        fleet.start(machine, "-steps", "1", "-late")
    assert 0 not in fleet.codes()
    assert "records/part-0" in fleet.error(0)
    assert f"worker 0 ({fleet.addresses[0]}) failed" in fleet.error(1)


@pytest.mark.slow
def test_a_signal_to_the_master_ends_both_machines_as_stopped(fleet: Fleet) -> None:
    for machine in (0, 1):
        fleet.start(machine, "-steps", "100000")
    fleet.wait_for_steps(3)
    fleet.processes[0].send_signal(signal.SIGTERM)
    master, other = fleet.codes()
    assert master == 143
    assert other != 0
    assert "SIGTERM: stopped after step" in fleet.error(0)
    assert "So machine 1 ends." in fleet.error(1), fleet.error(1)


def test_a_second_session_is_refused() -> None:
    with pytest.raises(MoxNotSupportedError, match="with several machines a program has one sess"):
        machine_group.enter(Settings(met=True), lambda _: None)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ("2:0", "placement on '2:0': machine 2 is not among the 2 of flow.config.machine, which"),
        ("1:0-1", "with 2 machines, a scope names one device, or the same devices of every"),
        (["0:0-1", "1:0"], "with 2 machines, a scope names one device, or the same devices of"),
    ],
)
def test_scopes_of_some_devices_of_some_machines_are_refused(ids: Any, message: str) -> None:
    graph, topology = tf.Graph(), Topology(2, Exchange(0, 2))
    trace = context.Trace("job", JobConf(), Variables(graph), graph, topology)
    with (
        graph.as_default(),
        context.tracing(trace),
        pytest.raises((MoxValueError, MoxNotSupportedError), match=message),
        flow.fixed_placement("gpu", ids),
    ):
        pass


@pytest.mark.parametrize(
    ("given", "port", "wanted"),
    [
        (["127.0.0.1:2017", "127.0.0.1:2018"], None, ("127.0.0.1:2017", "127.0.0.1:2018")),
        ([{"addr": "10.0.0.1"}, {"addr": "10.0.0.2"}], 9788, ("10.0.0.1:9788", "10.0.0.2:9788")),
        (["a", {"addr": "b", "ctrl_port_agent": 5}], None, ("a:2017", "b:5")),
        (["::1", "[::1]:9"], None, ("[::1]:2017", "[::1]:9")),
    ],
)
def test_addresses_get_the_control_port(
    given: list[object], port: int | None, wanted: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Settings()
    machine.set_machines(given)
    if port is not None:
        machine.set("ctrl_port", port)
    monkeypatch.setenv(addresses.VARIABLE, "1")
    cluster = addresses.cluster(machine.values)
    assert cluster is not None
    assert (cluster.workers, cluster.index) == (wanted, 1)


@pytest.mark.parametrize("address", ["http://10.0.0.1:2017", "10.0.0.1:2017:2018", "::g"])
def test_what_is_no_address_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Settings()
    machine.set_machines(["10.0.0.1", address])
    with pytest.raises(MoxValueError) as error:
        addresses.cluster(machine.values)
    assert str(error.value) == (
        f"flow.config.machine names {address!r}, which is no address, such as 10.0.0.1,"
        " 10.0.0.1:2017 or [fe80::1]:2017."
    )


def test_processes_of_one_host_take_the_machines_in_the_order_of_their_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(addresses.VARIABLE, raising=False)
    monkeypatch.setattr(addresses, "_claims", [])
    own = [("127.0.0.1", port) for port in free_ports(2)]
    machine = Settings({"machine": own})
    found = [addresses.cluster(machine.values) for _ in range(2)]
    assert [cluster.index for cluster in found if cluster] == [0, 1]
    with pytest.raises(MoxRuntimeError, match="2 of the machines of flow.config.machine are this"):
        addresses.cluster(machine.values)
    for claim in addresses._claims:
        claim.close()


def test_the_machines_have_the_secret_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Settings({"machine": [("10.0.0.1", 1), ("10.0.0.2", 1)]})
    monkeypatch.setenv(addresses.VARIABLE, "1")
    monkeypatch.setenv("MOX_JOB_SECRET", "a secret that nobody guesses")
    cluster = addresses.cluster(machine.values)
    assert cluster is not None
    assert cluster.secret == Secret(b"a secret that nobody guesses")
    monkeypatch.setenv("MOX_JOB_SECRET", "guessed")
    with pytest.raises(MoxValueError, match="it needs 16 to 1024"):
        addresses.cluster(machine.values)


def test_lists_that_make_no_sense_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Settings()
    with pytest.raises(MoxValueError, match="names a twice"):
        machine.set_machines("a", "a")
    with pytest.raises(MoxTypeError, match="takes addresses, or dicts with addr, not 3"):
        machine.set_machines(["a", 3])
    with pytest.raises(MoxValueError, match="'a:x' is not host:port"):
        machine.set_machines("a:x")
    machine.set_machines("a", "a:2017")
    with pytest.raises(MoxValueError, match="names a:2017 twice. Machines on one host need a port"):
        addresses.cluster(machine.values)
    machine.values["machine_num"] = 3
    with pytest.raises(MoxValueError) as error:
        addresses.cluster(machine.values)
    assert str(error.value) == (
        "flow.config.machine_num(3), but flow.config.machine names 2. Give both the same number, or"
        " leave machine_num out."
    )


def test_the_number_of_this_machine_must_be_of_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Settings({"machine": [("10.255.255.1", 1), ("10.255.255.2", 1)]})
    monkeypatch.setenv(addresses.VARIABLE, "2")
    with pytest.raises(MoxValueError) as error:
        addresses.cluster(machine.values)
    assert str(error.value) == ("MOX_MACHINE=2 names no machine: flow.config.machine has 0 to 1.")
    monkeypatch.delenv(addresses.VARIABLE)
    with pytest.raises(MoxValueError, match="MOX_MACHINE=0 is the first"):
        addresses.cluster(machine.values)
