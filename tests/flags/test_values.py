"""The runtime flags: which there are, how they are read, and who sees them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing import flags
from moxing.errors import MoxKeyError
from moxing.flags import values

# A new flag is a decision: it is added here, and another one goes if there are forty.
FROZEN = {
    "num_gpus": ("integer", 1),
    "job_name": ("string", ""),
    "task_index": ("integer", 0),
    "ps_hosts": ("string", ""),
    "worker_hosts": ("string", ""),
    "sync_replicas": ("boolean", True),
    "variable_update": ("string", None),
    "log_first_clone": ("boolean", True),
    "use_fp16": ("boolean", False),
    "use_bf16": ("boolean", False),
    "loss_scale": ("float", 1.0),
    "dynamic_loss_scale": ("boolean", False),
    "checkpoint_include_patterns": ("string", None),
    "checkpoint_exclude_patterns": ("string", None),
    "trainable_include_patterns": ("string", None),
    "trainable_exclude_patterns": ("string", None),
    "summary_verbosity": ("integer", 0),
    "profile_steps": ("string", None),
    "num_inter_threads": ("integer", 0),
    "num_intra_threads": ("integer", 0),
    "accumulate_steps": ("integer", 1),
    "recompute": ("boolean", False),
    "gradient_clip_norm": ("float", None),
    "gradient_clip_value": ("float", None),
    "gradient_clip": ("float", None),
    "gradient_clip_type": ("string", "norm"),
    "ema_decay": ("float", None),
    "keep_checkpoint_every_n_hours": ("float", None),
    "sync_save": ("boolean", False),
    "use_ema": ("boolean", False),
    "dry_run": ("boolean", False),
    "seed": ("integer", None),
    "compress_gradients": ("boolean", False),
    "session_timeout": ("integer", 0),
    "stall_timeout": ("integer", 60),
    "dgc_sparsity_strategy": ("string", "0.75,0.9375,0.984375,0.996,0.999"),
    "dgc_momentum_type": ("string", "vanilla"),
    "dgc_momentum": ("float", 0.9),
    "dgc_momentum_factor_masking": ("boolean", True),
    "dgc_total_samples": ("integer", None),
}


def test_flags_are_these_and_no_others() -> None:
    assert {spec.name: (spec.kind, spec.default) for spec in flags.TABLE} == FROZEN
    assert len(flags.TABLE) <= 40
    assert set(FROZEN) == flags.FLAG_NAMES
    assert all(spec.help.endswith(".") or ": " in spec.help for spec in flags.TABLE)


def test_every_flag_has_its_default() -> None:
    for name, (_, default) in FROZEN.items():
        value = mox.get_flag(name)
        assert value == default
        assert type(value) is type(default)


def test_hosts_are_text_so_that_programs_can_count_them() -> None:
    assert len(mox.get_flag("worker_hosts").split(",")) == 1
    assert len(mox.get_flag(flag_name="ps_hosts").split(",")) == 1


@pytest.mark.parametrize(
    ("arguments", "rest", "name", "value"),
    [
        (["--num_gpus=2"], [], "num_gpus", 2),
        (["--num_gpus", "2"], [], "num_gpus", 2),
        (["-num_gpus=2"], [], "num_gpus", 2),
        (["-num_gpus", "2"], [], "num_gpus", 2),
        (["--num_gpus=0x10"], [], "num_gpus", 16),
        (["--num_gpus=1", "--num_gpus=3"], [], "num_gpus", 3),
        (["a", "--num_gpus=2", "b"], ["a", "b"], "num_gpus", 2),
        (["--seed", "-5", "x"], ["x"], "seed", -5),
        (["--use_fp16"], [], "use_fp16", True),
        (["--use_fp16", "data"], ["data"], "use_fp16", True),
        (["--sync_replicas", "False", "data"], ["data"], "sync_replicas", False),
        (["--use_fp16=true"], [], "use_fp16", True),
        (["--use_fp16=0"], [], "use_fp16", False),
        (["--nouse_fp16"], [], "use_fp16", False),
        (["--nosync_replicas"], [], "sync_replicas", False),
        (["--loss_scale=1024"], [], "loss_scale", 1024.0),
        (["--worker_hosts=a:1,b:2"], [], "worker_hosts", "a:1,b:2"),
        (["--worker_hosts="], [], "worker_hosts", ""),
        (["--checkpoint_exclude_patterns=a=b"], [], "checkpoint_exclude_patterns", "a=b"),
        # Platforms send an empty value for a field that was left empty.
        (["--num_gpus="], [], "num_gpus", 1),
        (["--use_fp16="], [], "use_fp16", False),
        # These are not ours.
        (["--num_gpu=2"], ["--num_gpu=2"], "num_gpus", 1),
        (["num_gpus=2"], ["num_gpus=2"], "num_gpus", 1),
        (["--nonum_gpus"], ["--nonum_gpus"], "num_gpus", 1),
        # The last one counts, as everywhere.
        (["--num_gpus=2", "--num_gpus="], [], "num_gpus", 1),
        (["-"], ["-"], "num_gpus", 1),
        (["--", "--num_gpus=2"], ["--", "--num_gpus=2"], "num_gpus", 1),
        (["--num_gpus=2", "--", "--num_gpus=3"], ["--", "--num_gpus=3"], "num_gpus", 2),
        ([], [], "num_gpus", 1),
    ],
)
def test_flags_are_taken_out_of_a_command_line(
    arguments: list[str], rest: list[str], name: str, value: object
) -> None:
    given = list(arguments)
    assert flags.consume(arguments) == rest
    assert arguments == given
    assert mox.get_flag(name) == value


def test_an_empty_value_is_told(caplog: pytest.LogCaptureFixture) -> None:
    flags.consume(["--num_gpus=", "--seed=", "--use_fp16=", "--worker_hosts="])

    assert [record.getMessage() for record in caplog.records] == [
        "flag num_gpus is empty: its default 1 is used",
        "flag seed is empty: it counts as not given",
        "flag use_fp16 is empty: its default False is used",
    ]


def test_given_holds_the_text_of_the_command_line() -> None:
    flags.consume(["--num_gpus=1", "--worker_hosts=", "--nosync_replicas", "--seed=", "--own=1"])
    assert flags.given() == {"num_gpus": "1", "worker_hosts": "", "sync_replicas": "false"}
    flags.given().clear()
    assert flags.given() != {}


def test_command_line_of_plain_python_is_read_once_when_first_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", "--seed=5", "--own=1"])
    monkeypatch.setattr(values._GIVEN, "complete", False)
    assert mox.get_flag("seed") == 5
    assert sys.argv == ["train.py", "--seed=5", "--own=1"]
    sys.argv = ["train.py", "--seed=6"]
    assert mox.get_flag("seed") == 5


def test_set_flag_wins_over_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", "--seed=5"])
    monkeypatch.setattr(values._GIVEN, "complete", False)
    mox.set_flag("seed", 7)
    flags.read_command_line()
    assert mox.get_flag("seed") == 7


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("num_gpus", 2, 2),
        ("num_gpus", "2", 2),
        ("num_gpus", np.int64(2), 2),
        ("seed", None, None),
        ("seed", -(1 << 63), -(1 << 63)),
        ("use_fp16", True, True),
        ("use_fp16", "true", True),
        ("use_fp16", "0", False),
        ("use_fp16", np.bool_(True), True),
        ("loss_scale", 1024, 1024.0),
        ("loss_scale", "1e3", 1000.0),
        ("loss_scale", np.float32(0.5), 0.5),
        ("variable_update", None, None),
        ("checkpoint_exclude_patterns", "logits,global_step", "logits,global_step"),
        ("worker_hosts", "", ""),
    ],
)
def test_set_flag_keeps_the_flags_own_type(name: str, value: object, kept: object) -> None:
    mox.set_flag(name, value)
    assert mox.get_flag(name) == kept
    assert type(mox.get_flag(name)) is type(kept)


def test_unknown_flag_is_an_error_with_near_names() -> None:
    with pytest.raises(MoxKeyError) as raised:
        mox.get_flag("num_gpu")
    assert str(raised.value) == (
        "there is no runtime flag 'num_gpu'. Did you mean 'num_gpus'? The flags are:"
        f" {', '.join(sorted(FROZEN))}. Flags of the script itself are in tf.flags.FLAGS."
    )
    assert isinstance(raised.value, KeyError)


def test_tf_flags_show_the_same_values() -> None:
    shared = tf.flags.FLAGS["seed"]
    mox.set_flag("seed", 3)
    assert shared.value == 3
    assert not shared.using_default_value
    shared.value = 4
    assert mox.get_flag("seed") == 4
    assert set(tf.flags.FLAGS) >= flags.FLAG_NAMES


def test_patterns_are_separated_by_commas() -> None:
    assert flags.patterns("checkpoint_exclude_patterns") == ()
    mox.set_flag("checkpoint_exclude_patterns", " logits , ,global_step,")
    assert flags.patterns("checkpoint_exclude_patterns") == ("logits", "global_step")


def test_help_has_a_line_for_each_flag() -> None:
    lines = flags.get_help().splitlines()
    assert len(lines) == len(FROZEN)
    assert lines[0] == "--num_gpus=1  (integer) Devices of this process; 0: its CPU."


PROGRAM = """
import sys
import tensorflow.compat.v1 as tf

def told(name):
    return tf.flags.FLAGS[name].value

tf.flags.DEFINE_string("job_name", "mine", "of the program, before")
import moxing.tensorflow as mox
tf.flags.DEFINE_integer("num_gpus", 4, "of the program, after")
tf.flags.DEFINE_float("seed", 0.5, "of the program, of another type")
tf.flags.DEFINE_string("data_url", "here", "unknown to openmox")

def main(_):
    assert (tf.flags.FLAGS.job_name, mox.get_flag("job_name")) == ("mine", "")
    assert (tf.flags.FLAGS.num_gpus, mox.get_flag("num_gpus")) == (1, 1)
    assert (tf.flags.FLAGS.seed, mox.get_flag("seed")) == (7.0, 7)
    assert (tf.flags.FLAGS.summary_verbosity, mox.get_flag("summary_verbosity")) == (1, 1)
    assert tf.flags.FLAGS.data_url == "there"
    mox.set_flag("summary_verbosity", 2)
    assert tf.flags.FLAGS.summary_verbosity == 2
    tf.flags.FLAGS.summary_verbosity = 3
    assert mox.get_flag("summary_verbosity") == 3
    mox.set_flag("num_gpus", 2)
    assert tf.flags.FLAGS.num_gpus == 1
    print("as expected")

tf.app.run(main)
"""


@pytest.mark.slow
def test_a_program_may_define_flags_of_these_names_before_and_after_the_import(
    tmp_path: Path,
) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    arguments = ["--num_gpus=1", "--seed=7", "--summary_verbosity=1", "--data_url=there"]
    done = subprocess.run(
        [sys.executable, script, *arguments], capture_output=True, text=True, timeout=400
    )
    assert done.stdout == "as expected\n", done.stderr
