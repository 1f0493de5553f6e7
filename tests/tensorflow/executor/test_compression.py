"""The flags of deep gradient compression: what they train, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.errors import MoxNotSupportedError, MoxValueError
from moxing.tensorflow.optimizer.dgc import DgcOptimizer

SLOPES = np.array([[8.0, 4.0], [2.0, 1.0]], np.float32)


def train(log_dir: Path, optimizer: Callable[[], Any], steps: int = 3, **arguments: Any) -> Any:
    """Minimizes a linear function, whose gradient is the same everywhere."""

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        weight = tf.get_variable("w", [2, 2], initializer=tf.zeros_initializer())
        return mox.ModelSpec(loss=tf.reduce_sum(weight * SLOPES))

    given: dict[str, Any] = {"batch_size": 4, **arguments}
    mox.run(
        input_fn=lambda mode: tf.constant([0.0]),
        model_fn=model_fn,
        optimizer_fn=optimizer,
        run_mode="TRAIN",
        log_dir=log_dir,
        max_number_of_steps=steps,
        **given,
    )
    path = tf.train.latest_checkpoint(str(log_dir))
    return tf.train.load_checkpoint(path).get_tensor("w")


def compress(**given: Any) -> None:
    flags = {"variable_update": "distributed_replicated_dgc", "dgc_total_samples": 8}
    for name, value in (flags | given).items():
        mox.set_flag(name, value)


def test_the_flags_train_as_the_optimizer_around_sgd_does(tmp_path: Path) -> None:
    def wrapped() -> tf.train.Optimizer:
        inside = tf.train.GradientDescentOptimizer(0.1)
        return DgcOptimizer(inside, 2, (0.5, 0.75), 0.8, "nesterov", False)

    by_hand = train(tmp_path / "hand", wrapped)
    compress(
        dgc_sparsity_strategy="0.5,0.75",
        dgc_momentum=0.8,
        dgc_momentum_type="nesterov",
        dgc_momentum_factor_masking=False,
    )
    by_flags = train(tmp_path / "flags", mox.get_optimizer_fn("sgd", 0.1))
    np.testing.assert_array_equal(by_flags, by_hand)


def test_the_small_gradients_wait(tmp_path: Path) -> None:
    compress()
    moved = train(tmp_path, mox.get_optimizer_fn("sgd", 1.0), steps=1)
    np.testing.assert_array_equal(moved, [[-8.0, 0.0], [0.0, 0.0]])


def test_momentum_inside_counts_twice(tmp_path: Path, said: Callable[[str], list[str]]) -> None:
    compress()
    train(tmp_path, mox.get_optimizer_fn("momentum", 0.1, momentum=0.9))
    assert said("counts twice") == [
        "--variable_update=distributed_replicated_dgc has momentum of its own (--dgc_momentum):"
        " with MomentumOptimizer inside it counts twice. Use mox.get_optimizer_fn('sgd', ...)."
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"dgc_total_samples": None},
            "--variable_update=distributed_replicated_dgc needs --dgc_total_samples, the samples of"
            " an epoch: --dgc_sparsity_strategy has one value an epoch.",
        ),
        (
            {"dgc_sparsity_strategy": "0.5,1"},
            "--dgc_sparsity_strategy=0.5,1: it must be comma-separated shares from 0 to below 1,"
            " one an epoch, such as 0.75,0.9375,0.984375,0.996,0.999.",
        ),
        ({"dgc_momentum": 1.0}, "dgc: momentum is 1.0; it must be in [0, 1)."),
    ],
)
def test_flags_that_make_no_sense(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    compress(**given)
    with pytest.raises(MoxValueError) as caught:
        train(tmp_path, mox.get_optimizer_fn("sgd", 0.1))
    assert str(caught.value) == message


def test_an_epoch_has_no_steps_without_a_batch_size(tmp_path: Path) -> None:
    compress()
    with pytest.raises(MoxValueError, match="needs batch_size of mox.run"):
        train(tmp_path, mox.get_optimizer_fn("sgd", 0.1), batch_size=None)


def test_devices_of_a_process_hand_on_the_largest_of_their_mean(tmp_path: Path) -> None:
    compress(dgc_total_samples=4)
    alone = train(tmp_path / "one", mox.get_optimizer_fn("sgd", 0.1), steps=4)
    compress(dgc_total_samples=8, num_gpus=2)
    several = train(tmp_path / "two", mox.get_optimizer_fn("sgd", 0.1), steps=4)
    np.testing.assert_allclose(several, alone, rtol=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"sync_replicas": False},
            "--variable_update=distributed_replicated_dgc needs workers that update together, and"
            " --sync_replicas=false was given. Leave one of the two out.",
        ),
        (
            {"dynamic_loss_scale": True},
            "--variable_update=distributed_replicated_dgc can't leave out a step in all workers,"
            " which --dynamic_loss_scale asks for. Give a fixed --loss_scale=128, or --use_bf16,"
            " which needs none.",
        ),
    ],
)
def test_workers_that_cannot_exchange_are_refused(
    given: dict[str, Any], message: str, tmp_path: Path
) -> None:
    hosts = {"worker_hosts": "127.0.0.1:1,127.0.0.1:2", "ps_hosts": "127.0.0.1:3"}
    compress(**hosts, job_name="worker", **given)
    with pytest.raises(MoxNotSupportedError) as caught:
        train(tmp_path, mox.get_optimizer_fn("sgd", 0.1))
    assert str(caught.value) == message


def test_other_kinds_of_momentum_and_updates_are_refused_by_name(tmp_path: Path) -> None:
    compress(dgc_momentum_type="heavy")
    with pytest.raises(MoxNotSupportedError) as momentum:
        train(tmp_path, mox.get_optimizer_fn("sgd", 0.1))
    assert str(momentum.value) == (
        "--dgc_momentum_type=heavy is not supported. It is one of vanilla, nesterov; or leave it"
        " out."
    )
    compress(dgc_momentum_type="vanilla", variable_update="easgd")
    with pytest.raises(
        MoxNotSupportedError, match="is one of parameter_server, .*_dgc, auto; or leave"
    ):
        train(tmp_path, mox.get_optimizer_fn("sgd", 0.1))


def test_evaluation_does_not_ask_for_an_epoch(tmp_path: Path) -> None:
    mox.set_flag("variable_update", "distributed_replicated_dgc")
    train_flags = {"dgc_total_samples": 8}
    compress(**train_flags)
    train(tmp_path, mox.get_optimizer_fn("sgd", 0.1))
    mox.set_flag("dgc_total_samples", None)
    result = mox.run(
        input_fn=lambda mode: tf.constant([0.0]),
        model_fn=lambda inputs, mode: mox.ModelSpec(
            log_info={"w": tf.reduce_sum(tf.get_variable("w", [2, 2]))}
        ),
        run_mode="EVAL",
        log_dir=tmp_path,
        max_number_of_steps=1,
    )
    assert result.global_step == 3
