"""Checks optimizers against the way in which workers meet: each alone, or with one update."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing import flags
from moxing.engine.job.placement import Placement
from moxing.errors import MoxNotSupportedError
from moxing.logs import TENSORFLOW
from moxing.tensorflow.optimizer.batch_gradients import BatchGradientsOptimizer
from moxing.tensorflow.optimizer.dgc import DgcOptimizer
from moxing.tensorflow.optimizer.easgd import EasgdOptimizer
from moxing.tensorflow.optimizer.keys import OptimizerWrapperKeys
from moxing.tensorflow.optimizer.wrapper import OptimizerWrapper

_MakeOptimizer = Callable[[], tf.train.Optimizer]


def checked(functions: Sequence[_MakeOptimizer], placed: Placement) -> Sequence[_MakeOptimizer]:
    """Returns optimizer functions that raise MoxNotSupportedError for unsuitable optimizers.

    Where several workers update at different times, the first function also warns, in the chief,
    that the learning rate is each worker's own.

    Args:
        functions: the program's optimizer functions.
        placed: where the run computes.
    """
    if placed.group.alone:
        return functions
    around = [_around(function, placed) for function in functions]
    group = placed.group
    if around and not group.synchronous and group.size > 1 and group.is_chief:
        around[0] = _warning(around[0], group.size)
    return around


def _warning(function: _MakeOptimizer, workers: int) -> _MakeOptimizer:
    @functools.wraps(function)
    def make() -> tf.train.Optimizer:
        TENSORFLOW.warning(
            "With --sync_replicas=false each of the %d workers updates the variables by itself, at"
            " the whole learning rate: it is not divided by the number of workers. A rate that was"
            " found with one worker may be too high.",
            workers,
        )
        return function()

    return make


def _around(function: _MakeOptimizer, placed: Placement) -> _MakeOptimizer:
    @functools.wraps(function)
    def make() -> tf.train.Optimizer:
        made = function()
        for layer in _layers(made):
            _check(layer, placed)
        return made

    return make


def _layers(optimizer: Any) -> Iterator[OptimizerWrapper]:
    while isinstance(optimizer, OptimizerWrapper):
        yield optimizer
        optimizer = optimizer.optimizer


def _check(layer: OptimizerWrapper, placed: Placement) -> None:
    name = next((name for kind, name in _OWN.items() if isinstance(layer, kind)), None)
    if name is None or getattr(layer, "num_batches", 0) == 1:
        return
    if not placed.group.synchronous:
        raise MoxNotSupportedError(
            f"{name} keeps values of each worker's own, and with --sync_replicas=false all"
            " variables are shared on parameter servers. Leave --sync_replicas out: workers then"
            f" have variables of their own{_MEETS[name]}."
        )
    if name != OptimizerWrapperKeys.EASGD:
        return
    if placed.on_servers or flags.get_flag("dynamic_loss_scale"):
        flag = "--variable_update=parameter_server" if placed.on_servers else _DYNAMIC
        raise MoxNotSupportedError(
            f"{name} lets each worker go its own way, which {flag} does not. Leave the flag out."
        )


_OWN = {
    BatchGradientsOptimizer: OptimizerWrapperKeys.BATCH_GRADIENTS,
    DgcOptimizer: OptimizerWrapperKeys.DGC,
    EasgdOptimizer: OptimizerWrapperKeys.EASGD,
}
_MEETS = {
    OptimizerWrapperKeys.BATCH_GRADIENTS: ", and meet only when gradients are applied",
    OptimizerWrapperKeys.DGC: ", and exchange the largest gradients",
    OptimizerWrapperKeys.EASGD: ", and meet every communication_period steps",
}
_DYNAMIC = "--dynamic_loss_scale"
