"""get_optimizer_wrapper_fn: names, arguments, nesting and what a training run needs of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError
from moxing.tensorflow.optimizer import (
    OptimizerWrapper,
    OptimizerWrapperKeys,
    get_optimizer_fn,
    get_optimizer_wrapper_fn,
)
from moxing.tensorflow.optimizer.simple_sync_optimizer import SimpleSyncOptimizer

KNOWN = "Known: batch_gradients, dgc, easgd, lars."
ARGUMENTS: dict[str, dict[str, Any]] = {
    "batch_gradients": {"num_batches": 2, "sync_on_apply": True},
    "dgc": {"steps_per_epoch": 3},
    "easgd": {},
    "lars": {"ratio": 0.5, "weight_decay": 0.0001},
}


def sgd() -> tf.train.Optimizer:
    return get_optimizer_fn("sgd", 0.1)()


def test_keys_are_the_names() -> None:
    names = {value for key, value in vars(OptimizerWrapperKeys).items() if key.isupper()}
    assert names == set(ARGUMENTS)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_each_trains_and_is_a_wrapper(name: str) -> None:
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        step = tf.train.get_or_create_global_step()
        var = tf.get_variable("w", initializer=np.full((4, 4), 2.0, np.float32))
        loss = tf.reduce_sum(var**2)
        optimizer = get_optimizer_wrapper_fn(name, sgd(), **ARGUMENTS[name])()
        assert isinstance(optimizer, OptimizerWrapper)
        assert isinstance(optimizer, tf.train.Optimizer)
        train_op = optimizer.minimize(loss, global_step=step)
        assert {var.op.name for var in optimizer.variables()} == {
            var.op.name for var in tf.global_variables()
        } - {"w", "global_step"}
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            before = session.run(loss)
            for _ in range(6):
                session.run(train_op)
            after, steps = session.run([loss, step])
    assert after < 0.7 * before
    assert steps == 6


@pytest.mark.usefixtures("control_flow")
def test_all_nest_from_the_inside_out() -> None:
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        var = tf.get_variable("w", initializer=np.ones((4, 4), np.float32))
        optimizer = get_optimizer_fn("momentum", 0.1, momentum=0.9)()
        for name in ("lars", "dgc", "easgd", "batch_gradients"):
            optimizer = get_optimizer_wrapper_fn(name, optimizer, **ARGUMENTS[name])()
        train_op = optimizer.minimize(tf.reduce_sum(var**2))
        assert optimizer.get_slot_names() == [
            "center",
            "dgc_momentum",
            "dgc_residual",
            "gradient_sum",
            "momentum",
        ]
        slots = [optimizer.get_slot(var, name) for name in optimizer.get_slot_names()]
        assert [slot.op.name for slot in slots] == [
            "w/easgd",
            "w/dgc_momentum",
            "w/dgc_residual",
            "w/batch_gradients",
            "w/Momentum",
        ]
        assert optimizer.get_slot(var, "nothing") is None
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train_op)
            np.testing.assert_array_equal(session.run(var), np.ones((4, 4)))
            session.run(train_op)
            assert (session.run(var) < 1.0).all()


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("LARS", MoxValueError, f"unknown wrapper 'LARS'. Did you mean 'lars'? {KNOWN}"),
        (
            "batch_gradient",
            MoxValueError,
            f"unknown wrapper 'batch_gradient'. Did you mean 'batch_gradients'? {KNOWN}",
        ),
        (None, MoxTypeError, f"the name of a wrapper is a string, not NoneType. {KNOWN}"),
    ],
)
def test_unknown_names(name: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        get_optimizer_wrapper_fn(name, sgd())
    assert str(caught.value) == f"get_optimizer_wrapper_fn: {message}"


@pytest.mark.parametrize(
    ("name", "kwargs", "message"),
    [
        (
            "lars",
            {"wd": 0.1},
            "wrapper 'lars' has no argument 'wd'. It takes: exclude_patterns, ratio, skip_vectors, "
            "weight_decay.",
        ),
        (
            "batch_gradients",
            {"num_batch": 2},
            "wrapper 'batch_gradients' has no argument 'num_batch'. Did you mean 'num_batches'? "
            "It takes: num_batches, sync_on_apply.",
        ),
        (
            "batch_gradients",
            {},
            "wrapper 'batch_gradients': missing a required argument: 'num_batches'. "
            "It takes: num_batches, sync_on_apply.",
        ),
    ],
)
def test_wrong_arguments_are_refused_at_once(
    name: str, kwargs: dict[str, Any], message: str
) -> None:
    with pytest.raises(MoxTypeError) as caught:
        get_optimizer_wrapper_fn(name, sgd(), **kwargs)
    assert str(caught.value) == f"get_optimizer_wrapper_fn: {message}"


def test_what_is_wrapped_must_be_an_optimizer() -> None:
    with pytest.raises(MoxTypeError) as caught:
        get_optimizer_wrapper_fn("lars", 0.1)  # type: ignore[arg-type]
    assert str(caught.value) == (
        "get_optimizer_wrapper_fn: 'lars': the optimizer to wrap is 0.1 (float); "
        "it must be a tf.train.Optimizer."
    )
    with pytest.raises(MoxTypeError) as caught:
        get_optimizer_wrapper_fn("lars", get_optimizer_fn("sgd", 0.1))  # type: ignore[arg-type]
    assert str(caught.value).endswith(
        "it must be a tf.train.Optimizer. It looks like an optimizer_fn: call it first, "
        "get_optimizer_fn(...)()."
    )


def test_simple_sync_optimizer_of_one_worker_hands_on(follow: Any) -> None:
    seen = follow(lambda: SimpleSyncOptimizer(sgd(), 1, 0), {"w": [1.0]}, [{"w": [2.0]}])
    assert seen.weights[0]["w"] == [np.float32(0.8)]
    assert seen.global_steps == [1]


def test_simple_sync_optimizer_of_several_workers_is_refused() -> None:
    with pytest.raises(MoxNotSupportedError) as caught:
        SimpleSyncOptimizer(sgd(), num_workers=4, task_index=1)
    assert str(caught.value) == (
        "SimpleSyncOptimizer: 4 workers are not kept in step by the optimizer in this version. "
        "Leave it out and set the flag sync_replicas to True."
    )
    with pytest.raises(MoxValueError) as caught:
        SimpleSyncOptimizer(sgd(), num_workers=1, task_index=1)
    assert str(caught.value) == (
        "SimpleSyncOptimizer: task_index is 1; with 1 workers it must be at least 0 and below 1."
    )
