"""Optimizers with something of each worker's own are refused where workers share variables."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing import flags
from moxing.cluster.cluster import Cluster
from moxing.engine.job.placement import Placement, ProcessGroup
from moxing.errors import MoxNotSupportedError
from moxing.tensorflow.executor.meeting import checked
from moxing.tensorflow.optimizer import get_optimizer_wrapper_fn

CLUSTER = Cluster(("127.0.0.1:1", "127.0.0.1:2"), ("127.0.0.1:3",))
TOGETHER, ALONE = Placement(ProcessGroup(CLUSTER)), Placement()
APART = Placement(ProcessGroup(CLUSTER, synchronous=False))


def make(name: str, placed: Placement, **arguments: Any) -> tf.train.Optimizer:
    def optimizer_fn() -> tf.train.Optimizer:
        inside = tf.train.GradientDescentOptimizer(0.1)
        wrapped = get_optimizer_wrapper_fn(name, inside, **arguments)()
        return get_optimizer_wrapper_fn("lars", wrapped)()

    with tf.Graph().as_default():
        return checked([optimizer_fn], placed)[0]()


@pytest.mark.parametrize(
    ("name", "arguments", "meets"),
    [
        ("batch_gradients", {"num_batches": 2}, "and meet only when gradients are applied"),
        ("dgc", {"steps_per_epoch": 2}, "and exchange the largest gradients"),
        ("easgd", {}, "and meet every communication_period steps"),
    ],
)
def test_workers_that_share_variables(name: str, arguments: dict[str, Any], meets: str) -> None:
    for placed in (TOGETHER, ALONE):
        assert make(name, placed, **arguments)
    with pytest.raises(MoxNotSupportedError) as caught:
        make(name, APART, **arguments)
    assert str(caught.value) == (
        f"{name} keeps values of each worker's own, and with --sync_replicas=false all variables"
        " are shared on parameter servers. Leave --sync_replicas out: workers then have variables"
        f" of their own, {meets}."
    )


def test_one_batch_keeps_nothing() -> None:
    assert make("batch_gradients", APART, num_batches=1)


def test_elastic_workers_need_weights_of_their_own() -> None:
    with pytest.raises(MoxNotSupportedError) as caught:
        make("easgd", Placement(ProcessGroup(CLUSTER), on_servers=True))
    assert str(caught.value) == (
        "easgd lets each worker go its own way, which --variable_update=parameter_server does not."
        " Leave the flag out."
    )
    with flags.overridden(dynamic_loss_scale=True), pytest.raises(MoxNotSupportedError) as caught:
        make("easgd", TOGETHER)
    assert str(caught.value) == (
        "easgd lets each worker go its own way, which --dynamic_loss_scale does not. Leave the flag"
        " out."
    )


def test_workers_that_update_alone_are_told_that_the_rate_is_not_scaled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def optimizer_fn() -> tf.train.Optimizer:
        return tf.train.GradientDescentOptimizer(0.1)

    second = Cluster(CLUSTER.workers, CLUSTER.ps, index=1)
    for placed in (TOGETHER, ALONE, Placement(ProcessGroup(second, synchronous=False))):
        checked([optimizer_fn], placed)[0]()
    assert not caplog.records
    for make_optimizer in checked([optimizer_fn, optimizer_fn], APART):
        make_optimizer()
    [record] = caplog.records
    assert record.getMessage().startswith("With --sync_replicas=false each of the 2 workers")
