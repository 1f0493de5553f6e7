"""Deep gradient compression as MoXing's flags ask for it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError, MoxValueError, shown
from moxing.logs import TENSORFLOW
from moxing.tensorflow import flags
from moxing.tensorflow.optimizer.dgc import DgcOptimizer

_MakeOptimizer = Callable[[], tf.train.Optimizer]


def optimizers(
    functions: Sequence[_MakeOptimizer], batch_size: int | None, placed: Mapping[str, Any]
) -> Sequence[_MakeOptimizer]:
    """The optimizer functions, with compression around them where the flags ask for it.

    Args:
        functions: of the program.
        batch_size: samples of a step.
        placed: the fields of a Job that say where it runs.

    Raises:
        MoxNotSupportedError: more than one device or process.
        MoxValueError: flags that no compression could use.
    """
    if not functions or flags.get_flag("variable_update") != flags.COMPRESSED:
        return functions
    cluster = placed["cluster"]
    if placed["devices"] > 1 or (cluster is not None and not cluster.alone):
        raise MoxNotSupportedError(
            f"--variable_update={flags.COMPRESSED} trains on one device in one process, where it"
            " shows what sparse gradients do to the accuracy. On several, use"
            " --variable_update=distributed_replicated, with --compress_gradients to send half as"
            " much."
        )
    arguments: dict[str, Any] = {
        "steps_per_epoch": _steps_per_epoch(batch_size),
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
            return inside  # The engine words it.
        if not isinstance(inside, tf.train.GradientDescentOptimizer):
            TENSORFLOW.warning(
                "--variable_update=%s has momentum of its own (--dgc_momentum): with %s inside it"
                " counts twice. Use mox.get_optimizer_fn('sgd', ...).",
                flags.COMPRESSED,
                type(inside).__name__,
            )
        return DgcOptimizer(inside, **arguments)

    return make


def _steps_per_epoch(batch_size: int | None) -> int:
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
    return math.ceil(samples / batch_size)


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
