"""Applies deep gradient compression if the flags ask for it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing import flags
from moxing.engine.job.placement import Placement
from moxing.errors import MoxNotSupportedError, MoxValueError, shown
from moxing.logs import TENSORFLOW
from moxing.tensorflow.optimizer.dgc import DgcOptimizer

_MakeOptimizer = Callable[[], tf.train.Optimizer]


def optimizers(
    functions: Sequence[_MakeOptimizer], batch_size: int | None, placed: Placement
) -> Sequence[_MakeOptimizer]:
    """Returns the optimizer functions, wrapped with compression if the flags ask for it.

    Args:
        functions: the program's optimizer functions.
        batch_size: the number of samples per device and step, over all batches of a step.
        placed: where the run computes.

    Raises:
        MoxNotSupportedError: the processes can't exchange compressed gradients.
        MoxValueError: a flag's value is invalid for compression.
    """
    if not functions or flags.get_flag("variable_update") != flags.COMPRESSED:
        return functions
    workers = placed.group.size
    if workers > 1:
        _check_workers(placed)
    arguments: dict[str, Any] = {
        "steps_per_epoch": _steps_per_epoch(batch_size, placed.devices * workers),
        "sparsity": _sparsity(),
        "momentum": float(flags.get_flag("dgc_momentum")),
        "momentum_type": flags.get_flag("dgc_momentum_type"),
        "momentum_factor_masking": flags.get_flag("dgc_momentum_factor_masking"),
    }
    return [_around(function, arguments) for function in functions]


def _around(function: _MakeOptimizer, arguments: Mapping[str, Any]) -> _MakeOptimizer:
    @functools.wraps(function)
    def make() -> tf.train.Optimizer:
        inside = function()
        if not isinstance(inside, tf.train.Optimizer):
            return inside  # The engine raises the error.
        if not isinstance(inside, tf.train.GradientDescentOptimizer):
            TENSORFLOW.warning(
                "--variable_update=%s has momentum of its own (--dgc_momentum): with %s inside it"
                " counts twice. Use mox.get_optimizer_fn('sgd', ...).",
                flags.COMPRESSED,
                type(inside).__name__,
            )
        return DgcOptimizer(inside, **arguments)

    return make


def _check_workers(placed: Placement) -> None:
    if not placed.group.synchronous:
        raise MoxNotSupportedError(
            f"--variable_update={flags.COMPRESSED} needs workers that update together, and"
            " --sync_replicas=false was given. Leave one of the two out."
        )
    if flags.get_flag("dynamic_loss_scale"):
        raise MoxNotSupportedError(
            f"--variable_update={flags.COMPRESSED} can't leave out a step in all workers, which"
            " --dynamic_loss_scale asks for. Give a fixed --loss_scale=128, or --use_bf16, which"
            " needs none."
        )


def _steps_per_epoch(batch_size: int | None, devices: int) -> int:
    samples = flags.get_flag("dgc_total_samples")
    if samples is None:
        raise MoxValueError(
            f"--variable_update={flags.COMPRESSED} needs --dgc_total_samples, the samples of an"
            " epoch: --dgc_sparsity_strategy has one value an epoch."
        )
    if batch_size is None:
        raise MoxValueError(
            f"--variable_update={flags.COMPRESSED} needs batch_size of mox.run: with"
            " --dgc_total_samples it says how many steps an epoch has."
        )
    return math.ceil(samples / (batch_size * devices))


def _sparsity() -> tuple[float, ...]:
    text = flags.get_flag("dgc_sparsity_strategy")
    try:
        shares = tuple(float(part) for part in text.split(","))
    except ValueError:
        shares = ()
    if not shares or not all(0 <= share < 1 for share in shares):
        raise MoxValueError(
            f"--dgc_sparsity_strategy={shown(text, plain=True)}: it must be comma-separated shares"
            " from 0 to below 1, one an epoch, such as 0.75,0.9375,0.984375,0.996,0.999."
        )
    return shares
