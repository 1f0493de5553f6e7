"""The gradients of a loss: on one device, their means over all devices, and the clipped means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph.rewrites import pruning
from moxing.engine.graph.rewrites.precision import LossScale
from moxing.engine.job.job import Loss
from moxing.engine.job.updating import Updating
from moxing.engine.model import clipping, trainable
from moxing.engine.parallel import self_exchange
from moxing.engine.parallel.reduce import Spread
from moxing.engine.parallel.replicas import Replica
from moxing.engine.wording import user_calls
from moxing.errors import MoxValueError

GradsAndVars = list[tuple[Any, tf.Variable]]


def of_device(
    replica: Replica,
    optimizer: tf.train.Optimizer,
    index: int,
    variables: Sequence[tf.Variable],
    scale: LossScale,
) -> GradsAndVars:
    """Returns a device's gradients; None for each variable on which the loss does not depend.

    Args:
        replica: the model of the device.
        optimizer: computes the gradients.
        index: the number of the loss in the model.
        variables: the first model's variables that the run trains.
        scale: the factor of the loss while its gradients are computed.
    """
    losses = replica.model.losses
    loss = losses[index]
    label = "loss" if len(losses) == 1 else f"loss[{index}]"
    own = [replica.own(variable) for variable in trainable.of_loss(loss, label, variables)]
    about = f"of {label} ({loss.tensor.name})"
    role = f"{type(optimizer).__name__}'s"
    compute = optimizer.compute_gradients
    with tf.device(replica.device):
        with pruning.watched() as found:
            scaled = user_calls.call(role, compute, scale.scale(loss.tensor), own, about=about)
            scaled = list(scaled)
            found += [gradient for gradient, _ in scaled]
        pairs = [(scale.unscale(gradient), variable) for gradient, variable in scaled]
    if all(gradient is None for gradient, _ in pairs):
        raise MoxValueError(
            f"{label} ({loss.tensor.name}) does not depend on any trainable variable"
            f"{_within(loss)}: it has no gradient. Build it from the model's variables with"
            " differentiable operations (argmax, round, casts to int and py_func have no gradient)."
        )
    return pairs


def means(
    spread: Spread, optimizer: tf.train.Optimizer, of_each: Sequence[GradsAndVars]
) -> list[GradsAndVars]:
    """Returns the mean gradients of one loss over all devices, for every copy of its variables.

    There is one list for each device that computes means: for every device, or for the first alone.

    Args:
        spread: the devices, and how their gradients meet.
        optimizer: the optimizer of the loss.
        of_each: the gradients of each device of this process.
    """
    if spread.is_single:
        return [[(gradient, v) for gradient, v in of_each[0] if gradient is not None]]
    moved = [
        number
        for number, pairs in enumerate(zip(*of_each, strict=True))
        if all(gradient is not None for gradient, _ in pairs)
    ]
    gradients = [[pairs[number][0] for number in moved] for pairs in of_each]
    by_itself = self_exchange.is_wanted(optimizer) and self_exchange.current() is not None
    if spread.everywhere is not None and not by_itself:
        return [
            [(mean, pairs[number][1]) for number, mean in zip(moved, own, strict=True)]
            for pairs, own in zip(of_each, spread.means_of_each(gradients), strict=True)
        ]
    shared = spread.mean_here(gradients) if by_itself else spread.mean(gradients)
    # Devices with shared variables all list the same variable; it is kept once.
    return [
        [
            (mean, variable)
            for number, mean in zip(moved, shared, strict=True)
            for variable in {id(pairs[number][1]): pairs[number][1] for pairs in of_each}.values()
        ]
    ]


def limited(
    spread: Spread, of_each: Sequence[GradsAndVars], updating: Updating | None
) -> GradsAndVars:
    """Returns the gradients for an optimizer; each device clips its own.

    Args:
        spread: the devices.
        of_each: the mean gradients of one loss, from each device that computes them.
        updating: the limits; None: the optimizer clips them itself.
    """
    found: GradsAndVars = []
    # There are fewer lists than devices where the first device alone computes the means.
    for replica, pairs in zip(spread.replicas, of_each, strict=False):
        if updating is None:
            found += pairs
            continue
        with tf.device(replica.device):
            # Copies of a variable may share a gradient.
            gradients = list({id(gradient): gradient for gradient, _ in pairs}.values())
            clipped = clipping.clipped(gradients, updating)
        known = {id(old): new for old, new in zip(gradients, clipped, strict=True)}
        found += [(known[id(gradient)], variable) for gradient, variable in pairs]
    return found


def _within(loss: Loss) -> str:
    return f" under {list(loss.scopes)}" if loss.scopes else ""
