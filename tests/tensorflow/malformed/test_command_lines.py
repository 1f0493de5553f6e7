"""Command lines and flag values that mean nothing are refused, naming the flag and the value."""

from __future__ import annotations

import decimal
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing import flags
from moxing.flags import values

pytestmark = pytest.mark.timeout(240)

COMMAND_LINES: list[tuple[list[str], str]] = [
    (["--num_gpus"], "--num_gpus needs a value: --num_gpus=VALUE."),
    (["--seed", "--data_url=x"], "--seed needs a value: --seed=VALUE."),
    (["--job_name", "--"], "--job_name needs a value"),
    (["-seed"], "--seed needs a value"),
    (["script.py", "--loss_scale"], "--loss_scale needs a value"),
    (["--checkpoint_exclude_patterns", "-logits"], "--checkpoint_exclude_patterns needs a value"),
    (["--num_gpus=many"], "--num_gpus=many: expected an integer, got 'many'."),
    (["--num_gpus", "many"], "--num_gpus=many: expected an integer, got 'many'."),
    (["--num_gpus=1.0"], "--num_gpus=1.0: expected an integer, got '1.0'."),
    (["--num_gpus=one"], "--num_gpus=one: expected an integer"),
    (["--num_gpus= "], "--num_gpus= : expected an integer, got ' '."),
    (["--num_gpus=="], "--num_gpus==: expected an integer, got '='."),
    (["--num_gpus=1,2"], "--num_gpus=1,2: expected an integer"),
    (["--num_gpus=True"], "--num_gpus=True: expected an integer"),
    (["--num_gpus=None"], "--num_gpus=None: expected an integer"),
    (["--num_gpus=1e3"], "--num_gpus=1e3: expected an integer"),
    (["--num_gpus=0x"], "--num_gpus=0x: expected an integer"),
    (["--num_gpus=１２a"], "--num_gpus=１２a: expected an integer"),
    (["--num_gpus=$N"], "--num_gpus=$N: expected an integer"),
    (["--task_index=\0"], "expected an integer, got '\\x00'."),
    (["--task_index=inf"], "--task_index=inf: expected an integer"),
    (["--seed=nan"], "--seed=nan: expected an integer"),
    (["--seed=9" * 2000], "expected an integer"),
    (["--seed=" + "9" * 30], "it must be at most 9223372036854775807."),
    (["--seed=-" + "9" * 30], "it must be at least -9223372036854775808."),
    (["--num_inter_threads=-1"], "--num_inter_threads=-1: it must be at least 0."),
    (["--num_inter_threads", "-1"], "--num_inter_threads=-1: it must be at least 0."),
    (["--num_intra_threads=100000"], "--num_intra_threads=100000: it must be at most 4096."),
    (["--summary_verbosity=-2"], "--summary_verbosity=-2: it must be at least 0."),
    (["--sync_replicas=maybe"], "--sync_replicas=maybe: expected a boolean, got 'maybe'."),
    (["--sync_replicas=2"], "--sync_replicas=2: expected a boolean, got '2'."),
    (["--log_first_clone= true"], "--log_first_clone= true: expected a boolean"),
    (
        ["--nouse_fp16=1"],
        "--nouse_fp16=1: --nouse_fp16 takes no value. Write --nouse_fp16 or --use_fp16=false.",
    ),
    (["--use_fp16=on"], "--use_fp16=on: expected a boolean, got 'on'."),
    (["--loss_scale=big"], "--loss_scale=big: expected a float, got 'big'."),
    (["--loss_scale=1,5"], "--loss_scale=1,5: expected a float"),
    (["--loss_scale=1.5.2"], "--loss_scale=1.5.2: expected a float"),
]


@pytest.mark.parametrize(("arguments", "told"), COMMAND_LINES)
def test_command_line(arguments: list[str], told: str, refused: Callable[..., None]) -> None:
    refused(lambda: flags.consume(arguments), told)


@pytest.mark.parametrize(("arguments", "told"), COMMAND_LINES[:8])
def test_command_line_of_plain_python(
    arguments: list[str],
    told: str,
    refused: Callable[..., None],
    run: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
    monkeypatch.setattr(values._GIVEN, "complete", False)
    refused(lambda: mox.get_flag("num_gpus"), told)
    refused(run, told)


FLAG_VALUES: list[tuple[Any, Any, str]] = [
    ("num_gpu", 1, "there is no runtime flag 'num_gpu'. Did you mean 'num_gpus'?"),
    ("NUM_GPUS", 1, "there is no runtime flag 'NUM_GPUS'. The flags are: "),
    ("--num_gpus", 1, "there is no runtime flag '--num_gpus'. Did you mean 'num_gpus'?"),
    ("worker_host", "", "Did you mean 'worker_hosts'"),
    ("checkpoint_exclude_pattern", "", "Did you mean 'checkpoint_exclude_patterns'"),
    ("data_url", "x", "Flags of the script itself are in tf.flags.FLAGS."),
    ("", 1, "there is no runtime flag ''."),
    ("a" * 5000, 1, "there is no runtime flag 'aaa"),
    (None, 1, "the name of a runtime flag is a string, not None."),
    (b"seed", 1, "the name of a runtime flag is a string, not b'seed'."),
    (["seed"], 1, "the name of a runtime flag is a string, not ['seed']."),
    ("num_gpus", None, "--num_gpus=None: expected an integer, got None."),
    ("num_gpus", "two", "--num_gpus=two: expected an integer, got 'two'."),
    ("num_gpus", "", "--num_gpus=: expected an integer, got ''."),
    ("num_gpus", 1.0, "--num_gpus=1.0: expected an integer, got 1.0."),
    ("num_gpus", True, "--num_gpus=True: expected an integer, got True."),
    ("num_gpus", np.float32(1), "--num_gpus=np.float32(1.0): expected an integer"),
    ("num_gpus", np.array([1, 2]), "--num_gpus=array([1, 2]): expected an integer"),
    ("num_gpus", [1], "--num_gpus=[1]: expected an integer, got [1]."),
    ("num_gpus", b"1", "--num_gpus=b'1': expected an integer, got b'1'."),
    ("seed", math.nan, "--seed=nan: expected an integer, got nan."),
    ("seed", 10**5000, "--seed=<int of 16610 bits>: it must be at most 9223372036854775807."),
    ("seed", object, "--seed=the class object: expected an integer"),
    ("seed", int("9" * 25), "it must be at most 9223372036854775807."),
    ("num_inter_threads", -3, "--num_inter_threads=-3: it must be at least 0."),
    ("num_intra_threads", 10**12, "--num_intra_threads=1000000000000: it must be at most 4096."),
    ("num_gpus", -1, "--num_gpus=-1: it must be at least 0."),
    ("num_gpus", 65, "--num_gpus=65: it must be at most 64."),
    ("task_index", -1, "--task_index=-1: it must be at least 0."),
    ("stall_timeout", 0, "--stall_timeout=0: it must be at least 1."),
    ("session_timeout", -1, "--session_timeout=-1: it must be at least 0."),
    ("summary_verbosity", -1, "--summary_verbosity=-1: it must be at least 0."),
    ("use_fp16", None, "--use_fp16=None: expected a boolean, got None."),
    ("use_fp16", 1, "--use_fp16=1: expected a boolean, got 1."),
    ("use_fp16", "yes", "--use_fp16=yes: expected a boolean, got 'yes'."),
    ("sync_replicas", [], "--sync_replicas=[]: expected a boolean, got []."),
    ("loss_scale", None, "--loss_scale=None: expected a float, got None."),
    ("loss_scale", "x", "--loss_scale=x: expected a float, got 'x'."),
    ("loss_scale", True, "--loss_scale=True: expected a float, got True."),
    ("loss_scale", 1j, "--loss_scale=1j: expected a float, got 1j."),
    ("loss_scale", 10**400, "expected a float, got 100000000"),
    ("loss_scale", decimal.Decimal(2), "--loss_scale=Decimal('2'): expected a float"),
    ("job_name", None, "--job_name=None: expected a string, got None."),
    ("job_name", 3, "--job_name=3: expected a string, got 3."),
    ("worker_hosts", ["a:1", "b:2"], "--worker_hosts=['a:1', 'b:2']: expected a string"),
    ("checkpoint_exclude_patterns", ["logits"], "=['logits']: expected a string, got ['logits']."),
    ("checkpoint_include_patterns", b"logits", "=b'logits': expected a string, got b'logits'."),
    ("trainable_include_patterns", 0, "--trainable_include_patterns=0: expected a string, got 0."),
]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    FLAG_VALUES,
    ids=[f"{number} {str(name)[:30]}" for number, (name, *_) in enumerate(FLAG_VALUES)],
)
def test_flag_value(name: Any, value: Any, told: str, refused: Callable[..., None]) -> None:
    before = {spec.name: mox.get_flag(spec.name) for spec in flags.TABLE}
    refused(lambda: mox.set_flag(name, value), told)
    assert {spec.name: mox.get_flag(spec.name) for spec in flags.TABLE} == before


# Values that a flag can have, and no run.
UNUSABLE: list[tuple[str, Any, str]] = [
    ("job_name", "ps", "--worker_hosts"),
    ("job_name", "boss", "boss"),
    ("worker_hosts", "a:1,b:1", "--job_name"),
    ("worker_hosts", "nowhere,b:1", "'nowhere' is not host:port, such as 10.0.0.1:2222."),
    (
        "variable_update",
        "everywhere",
        "--variable_update=everywhere is not supported. It is one of",
    ),
    ("loss_scale", 0.0, "--loss_scale=0.0: it must be a finite number above 0."),
    ("loss_scale", -2.0, "--loss_scale=-2.0: it must be a finite number above 0."),
    ("loss_scale", math.nan, "--loss_scale=nan: it must be a finite number above 0."),
    ("loss_scale", math.inf, "--loss_scale=inf: it must be a finite number above 0."),
    ("checkpoint_include_patterns", "[", "--checkpoint_include_patterns: '[' is no regular"),
    ("checkpoint_exclude_patterns", "a,*", "--checkpoint_exclude_patterns: '*' is no regular"),
    ("trainable_include_patterns", "(", "--trainable_include_patterns: '(' is no regular"),
    ("trainable_exclude_patterns", "w,(?P<", "--trainable_exclude_patterns: '(?P<' is no regular"),
    ("trainable_include_patterns", "nothing", "leave none of the 1 variables to train, such as w"),
    ("trainable_exclude_patterns", ".", "leave none of the 1 variables to train, such as w"),
]


@pytest.mark.parametrize(("name", "value", "told"), UNUSABLE)
def test_flag_value_that_no_run_can_have(
    name: str, value: Any, told: str, refused: Callable[..., None], run: Callable[..., Any]
) -> None:
    mox.set_flag(name, value)
    refused(lambda: run(log_dir="out"), told)


def test_two_16_bit_types(refused: Callable[..., None], run: Callable[..., Any]) -> None:
    mox.set_flag("use_fp16", True)
    mox.set_flag("use_bf16", True)
    refused(run, "--use_fp16 and --use_bf16 are both given; choose one.")


def test_value_assigned_past_set_flag(
    refused: Callable[..., None], run: Callable[..., Any]
) -> None:
    tf.flags.FLAGS["num_inter_threads"].value = "four"
    refused(run, "--num_inter_threads=four: expected an integer, got 'four'.")
