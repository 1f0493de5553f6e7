"""What a run would make of machines that are not here."""

from __future__ import annotations

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph import hardware
from moxing.engine.graph.hardware import Exchange, Machine, Work
from moxing.errors import MoxValueError

EIGHT, NONE = Machine(gpus=8, cores=96), Machine(gpus=0, cores=16)


def test_devices_are_gpus_or_parts_of_the_cpu() -> None:
    assert hardware.names(EIGHT, 2) == ("/device:GPU:0", "/device:GPU:1")
    assert hardware.names(NONE, 2) == ("/device:CPU:0", "/device:CPU:1")
    with pytest.raises(MoxValueError, match="--num_gpus=9, but this machine has 8"):
        hardware.names(EIGHT, 9)


def test_variables_are_copied_to_gpus() -> None:
    assert [hardware.copies(m, None) for m in (EIGHT, NONE)] == [True, False]
    assert [hardware.copies(EIGHT, False), hardware.copies(NONE, True)] == [False, True]


@pytest.mark.parametrize(
    ("machine", "asked", "members", "hint"),
    [
        (EIGHT, None, 8, "nccl"),
        (EIGHT, None, 128, "nccl"),
        (EIGHT, None, 1, None),
        (EIGHT, False, 8, None),
        (NONE, None, 8, None),
        (NONE, True, 8, "auto"),
        (NONE, True, 1, None),
    ],
)
def test_gpus_meet_by_nccl_in_one_group(
    machine: Machine, asked: bool | None, members: int, hint: str | None
) -> None:
    found = hardware.exchange(machine, asked, members)
    assert (found.hint if isinstance(found, Exchange) else None) == hint


def test_batches_are_copied_to_gpus_ahead() -> None:
    images = [tf.uint8, tf.int64]
    assert hardware.takes_ahead(EIGHT, 2, images) == ("/device:GPU:0", "/device:GPU:1")
    assert hardware.takes_ahead(NONE, 2, images) == ()
    assert hardware.takes_ahead(EIGHT, 2, [tf.float32, tf.string]) == ()
    assert hardware.takes_ahead(EIGHT, 2, [tf.float32, tf.int32]) == ()


def configured(machine: Machine, count: int, together: bool) -> tf.ConfigProto:
    config = tf.ConfigProto()
    hardware.configure(config, machine, count, together)
    return config


@pytest.mark.parametrize(
    ("machine", "work", "why"),
    [
        (EIGHT, Work(computed=900, unsteady=90), None),
        (EIGHT, Work(computed=900, unsteady=800, example="'x' (t.py:3)"), "such as 'x' (t.py:3)"),
        (EIGHT, Work(computed=900, table=1 << 20), None),
        (EIGHT, Work(computed=900, table=1 << 30), "rows of a variable of 1,074 MB"),
        (EIGHT, Work(), None),
        (NONE, Work(computed=900), "there is no GPU"),
    ],
)
def test_xla_compiles_steps_on_gpus_that_it_makes_faster(
    machine: Machine, work: Work, why: str | None
) -> None:
    found = hardware.against_xla(machine, work)
    assert found is None if why is None else why in str(found)


def test_sessions() -> None:
    gpu, cpu = configured(EIGHT, 8, True), configured(NONE, 2, False)
    assert gpu.gpu_options.allow_growth
    assert gpu.graph_options.optimizer_options.global_jit_level == tf.OptimizerOptions.DEFAULT
    hardware.compile_with_xla(gpu)
    assert gpu.graph_options.optimizer_options.global_jit_level == tf.OptimizerOptions.ON_1
    assert gpu.experimental.collective_group_leader == "/job:localhost/replica:0/task:0"
    assert dict(gpu.device_count) == {}
    assert dict(cpu.device_count) == {"CPU": 2}
    assert cpu.graph_options.optimizer_options.global_jit_level == tf.OptimizerOptions.DEFAULT
    assert not cpu.experimental.collective_group_leader
