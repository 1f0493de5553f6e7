"""A flag of MoXing without effect is told, once, unless it is the program's own."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from absl import flags as absl_flags

from moxing import flags
from moxing.flags import idle


@pytest.fixture(autouse=True)
def nothing_told() -> Iterator[None]:
    idle._told.clear()
    yield
    idle._told.clear()


def told(caplog: pytest.LogCaptureFixture, *argv: str) -> list[str]:
    with caplog.at_level(logging.WARNING, "tensorflow"):
        idle.warn(argv)
    return [record.getMessage() for record in caplog.records]


def test_each_is_told_once_with_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    argv = (
        "--warmup_steps=10",
        "--num_gpus=1",
        "--warmup_steps",
        "2",
        "--odd",
        "-var_dtype=fp32",
    )
    texts = told(caplog, *argv)
    assert texts == [
        "--warmup_steps, a flag of MoXing, does nothing in openmox: give the optimizer a learning"
        " rate that rises. If the program reads the flag itself, all is well.",
        "--var_dtype, a flag of MoXing, does nothing in openmox: see --use_fp16 and --use_bf16."
        " If the program reads the flag itself, all is well.",
    ]
    assert told(caplog, *argv) == texts


def test_what_stands_behind_two_dashes_is_the_programs(caplog: pytest.LogCaptureFixture) -> None:
    assert told(caplog, "--", "--warmup_steps=10", "warmup_steps") == []


def test_the_program_reads_back_a_value_that_it_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle, "_kept", {})
    assert flags.get_flag("sync_before_server") is None
    flags.set_flag("sync_before_server", True)
    assert flags.get_flag("sync_before_server") is True
    assert flags.get_flag("warmup_steps") is None


def test_a_flag_that_the_program_defines_is_its_own(caplog: pytest.LogCaptureFixture) -> None:
    absl_flags.DEFINE_integer("warmup_steps", 0, "of the program")
    try:
        assert told(caplog, "--warmup_steps=5") == []
    finally:
        delattr(absl_flags.FLAGS, "warmup_steps")


def test_none_of_them_is_a_flag_of_ours() -> None:
    assert not idle.IDLE.keys() & set(flags.FLAG_NAMES)
