"""RunConfig: its defaults, what it says of this process, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing import flags
from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError

CLUSTER = {"ps": ["h:3", "h:4"], "worker": ["h:2", "h:5"]}


def test_defaults() -> None:
    config = tfe.RunConfig()
    assert config.save_checkpoints_secs == 600
    assert config.save_checkpoints_steps is None
    assert (config.save_summary_steps, config.log_step_count_steps) == (100, 100)
    assert config.keep_checkpoint_max == 5
    assert config.keep_checkpoint_every_n_hours == 10000
    assert (config.task_type, config.task_id, config.is_chief) == ("worker", 0, True)
    assert (config.num_worker_replicas, config.num_ps_replicas) == (1, 0)
    assert config.cluster_spec.as_dict() == {}
    assert (config.master, config.global_id_in_cluster) == ("", 0)


@pytest.mark.parametrize("chief", ["chief", "master"])
@pytest.mark.parametrize(
    ("role", "index", "expected"),
    [
        ("chief", 0, ("chief", 0, True, 0)),
        ("worker", 1, ("worker", 1, False, 2)),
        ("ps", 1, ("ps", 1, False, 4)),
    ],
)
def test_roles(
    chief: str, role: str, index: int, expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = {chief: ["h:1"], **CLUSTER}
    task = {"type": chief if role == "chief" else role, "index": index}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    monkeypatch.setenv("no_proxy", "*")

    config = tfe.RunConfig()

    found = (config.task_type, config.task_id, config.is_chief, config.global_id_in_cluster)
    assert found == expected
    assert (config.num_worker_replicas, config.num_ps_replicas) == (3, 2)
    assert config.cluster_spec.as_dict() == {"chief": ["h:1"], **CLUSTER}


@pytest.mark.parametrize("chief", ["chief", "master"])
def test_a_chief_alone_is_a_chief(chief: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As TensorFlow's RunConfig said, and hosted services start every job of one machine so."""
    found = {"cluster": {chief: ["h:1"]}, "task": {"type": chief, "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(found))
    config = tfe.RunConfig()
    assert (config.task_type, config.task_id, config.is_chief) == ("chief", 0, True)
    assert config.cluster_spec.as_dict() == {"chief": ["h:1"]}
    assert (config.num_worker_replicas, config.num_ps_replicas) == (1, 0)
    assert (config.master, config.global_id_in_cluster, config.cluster) == ("", 0, None)
    for empty in ("{}", '{"cluster": {}, "task": {"type": "master", "index": 0}}'):
        monkeypatch.setenv("TF_CONFIG", empty)
        assert tfe.RunConfig().task_type == "worker"


def test_replace() -> None:
    config = tfe.RunConfig(model_dir="a", save_checkpoints_steps=7)
    other = config.replace(model_dir="b", keep_checkpoint_max=0)
    assert (other.model_dir, other.save_checkpoints_steps) == ("b", 7)
    assert other.save_checkpoints_secs is None
    assert other.keep_checkpoint_max is None
    assert config.model_dir == "a"
    assert config.replace(save_checkpoints_secs=9).save_checkpoints_steps is None
    with pytest.raises(MoxValueError) as caught:
        config.replace(model_dr="b")
    assert str(caught.value) == (
        "RunConfig.replace has no 'model_dr' to replace. Did you mean 'model_dir'?"
    )


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        (
            {"save_checkpoints_steps": 5, "save_checkpoints_secs": 6},
            MoxValueError,
            "RunConfig has save_checkpoints_steps=5 and save_checkpoints_secs=6; give one of them.",
        ),
        (
            {"save_checkpoints_steps": 0},
            MoxValueError,
            "RunConfig(save_checkpoints_steps=0): it must be above 0, or None.",
        ),
        (
            {"log_step_count_steps": -1},
            MoxValueError,
            "RunConfig(log_step_count_steps=-1): it must be a number, or None.",
        ),
        (
            {"save_summary_step": 1},
            MoxTypeError,
            "tf.estimator.RunConfig has no argument 'save_summary_step'. Did you mean"
            " 'save_summary_steps'?",
        ),
        (
            {"train_distribute": "mirrored"},
            MoxTypeError,
            "RunConfig(train_distribute='mirrored'): it must be a strategy of tf.distribute, such"
            " as tf.distribute.MirroredStrategy().",
        ),
        (
            {"device_fn": print},
            MoxNotSupportedError,
            "RunConfig(device_fn=...) is not supported: openmox places variables itself. Say where"
            " with --variable_update, or with tf.device inside model_fn.",
        ),
    ],
)
def test_mistakes(given: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        tfe.RunConfig(**given)
    assert str(caught.value) == message


def test_a_real_strategy_is_taken_too() -> None:
    with tf.Graph().as_default():
        real = tf.distribute.OneDeviceStrategy("/cpu:0")
    assert tfe.RunConfig(train_distribute=real).train_distribute is real


def test_flags_of_the_launcher_say_which_process_this_is() -> None:
    flags.set_flag("worker_hosts", "h:1,h:2")
    flags.set_flag("job_name", "worker")
    flags.set_flag("task_index", 1)
    config = tfe.RunConfig()
    assert (config.task_type, config.task_id, config.is_chief) == ("worker", 0, False)
    assert config.num_worker_replicas == 2
    flags.set_flag("task_index", 0)
    assert (config.task_type, config.is_chief) == ("chief", True)
