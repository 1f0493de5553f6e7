"""The optimizers, optimizer wrappers and learning-rate schedules of the MoXing dialect."""

from __future__ import annotations

from moxing.tensorflow.optimizer.basic import get_optimizer_fn
from moxing.tensorflow.optimizer.keys import OptimizerKeys, OptimizerWrapperKeys
from moxing.tensorflow.optimizer.wrapper import OptimizerWrapper
from moxing.tensorflow.optimizer.wrappers import get_optimizer_wrapper_fn

__all__ = [
    "OptimizerKeys",
    "OptimizerWrapper",
    "OptimizerWrapperKeys",
    "get_optimizer_fn",
    "get_optimizer_wrapper_fn",
]
