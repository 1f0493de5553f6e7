"""`tf.contrib.opt`: optimizers that `tf.train` does not have."""

from __future__ import annotations

from moxing.legacy.contrib.opt.adaptive import (
    AdaMaxOptimizer,
    AddSignOptimizer,
    LARSOptimizer,
    LazyAdamOptimizer,
    NadamOptimizer,
    PowerSignOptimizer,
)
from moxing.legacy.contrib.opt.averaging import (
    MovingAverageOptimizer,
    VariableClippingOptimizer,
    clip_gradients_by_global_norm,
)
from moxing.legacy.contrib.opt.decoupled import (
    AdamWOptimizer,
    DecoupledWeightDecayExtension,
    MomentumWOptimizer,
    extend_with_decoupled_weight_decay,
)
from moxing.legacy.contrib.opt.external import (
    ExternalOptimizerInterface,
    ScipyOptimizerInterface,
)

__all__ = [
    "AdaMaxOptimizer",
    "AdamWOptimizer",
    "AddSignOptimizer",
    "DecoupledWeightDecayExtension",
    "ExternalOptimizerInterface",
    "LARSOptimizer",
    "LazyAdamOptimizer",
    "MomentumWOptimizer",
    "MovingAverageOptimizer",
    "NadamOptimizer",
    "PowerSignOptimizer",
    "ScipyOptimizerInterface",
    "VariableClippingOptimizer",
    "clip_gradients_by_global_norm",
    "extend_with_decoupled_weight_decay",
]
