"""Optimizers, wrappers around optimizers, and learning-rate schedules of the MoXing dialect."""

from __future__ import annotations

from moxing.tensorflow.optimizer.basic import get_optimizer_fn
from moxing.tensorflow.optimizer.keys import OptimizerKeys

__all__ = ["OptimizerKeys", "get_optimizer_fn"]
