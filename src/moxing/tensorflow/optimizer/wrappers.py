"""The optimizer wrappers by short name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing import flags
from moxing.errors import MoxTypeError, MoxValueError, near_matches
from moxing.logs import TENSORFLOW
from moxing.tensorflow.optimizer.arguments import check_arguments
from moxing.tensorflow.optimizer.batch_gradients import BatchGradientsOptimizer
from moxing.tensorflow.optimizer.dgc import DgcOptimizer
from moxing.tensorflow.optimizer.easgd import EasgdOptimizer
from moxing.tensorflow.optimizer.keys import OptimizerWrapperKeys
from moxing.tensorflow.optimizer.lars import LarsOptimizer
from moxing.tensorflow.optimizer.wrapper import OptimizerWrapper, check_optimizer

_WHERE = "get_optimizer_wrapper_fn"

_RARELY_MEETING = (OptimizerWrapperKeys.BATCH_GRADIENTS, OptimizerWrapperKeys.EASGD)

_CLASSES: dict[str, type[OptimizerWrapper]] = {
    OptimizerWrapperKeys.BATCH_GRADIENTS: BatchGradientsOptimizer,
    OptimizerWrapperKeys.DGC: DgcOptimizer,
    OptimizerWrapperKeys.EASGD: EasgdOptimizer,
    OptimizerWrapperKeys.LARS: LarsOptimizer,
}


def get_optimizer_wrapper_fn(
    name: str, opt: tf.train.Optimizer, *args: Any, **kwargs: Any
) -> Callable[[], OptimizerWrapper]:
    """Returns a function without arguments that wraps an optimizer.

    Wrappers nest from the inside out: momentum, then 'lars', then 'batch_gradients'.

    Args:
      name: 'batch_gradients', 'dgc', 'easgd' or 'lars'.
      opt: the optimizer to wrap.
      *args, **kwargs: the arguments of `BatchGradientsOptimizer`, `DgcOptimizer`,
        `EasgdOptimizer` or `LarsOptimizer` after the first.

    Raises:
      MoxValueError: the name is unknown, or a number is outside its range.
      MoxTypeError: `opt` is not an optimizer, or an argument is unknown or missing.
    """
    if not isinstance(name, str):
        raise MoxTypeError(
            f"{_WHERE}: the name of a wrapper is a string, not {type(name).__name__}. "
            f"Known: {', '.join(_CLASSES)}."
        )
    if name not in _CLASSES:
        raise MoxValueError(
            f"{_WHERE}: unknown wrapper {name!r}.{near_matches(name.lower(), _CLASSES)} "
            f"Known: {', '.join(_CLASSES)}."
        )
    check_optimizer(opt, f"{_WHERE}: {name!r}")
    cls = _CLASSES[name]
    check_arguments(f"{_WHERE}: wrapper {name!r}", cls, args, kwargs)

    def make() -> OptimizerWrapper:
        _warn_of_synchronous_workers(name)
        return cls(opt, *args, **kwargs)

    return make


def _warn_of_synchronous_workers(name: str) -> None:
    """Warns if a wrapper that makes exchanges rare is used with synchronous workers."""
    several = "," in (flags.get_flag("worker_hosts") or "")
    if name in _RARELY_MEETING and several and flags.get_flag("sync_replicas"):
        TENSORFLOW.warning(
            "Using OptimizerWrapper when sync_replicas is True may cause performance loss."
        )
