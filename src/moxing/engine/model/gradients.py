"""The gradients of a loss: on one device, their means over all devices, and the clipped means."""

from __future__ import annotations

import itertools
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
        optimizer: computes the gradients; none if its attribute `has_no_gradients` is true, because
            its update consists of other operations.
        index: the number of the loss in the model.
        variables: the first model's variables that the run trains.
        scale: the factor of the loss while its gradients are computed.
    """
    if getattr(optimizer, "has_no_gradients", False):
        return []
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

    The result has one list for each device that computes means: either every device computes them,
    or the first device alone does, for the copies of all devices. A variable without a gradient
    on some device is left out.

    Args:
        spread: the devices, and how their gradients meet.
        optimizer: the optimizer of the loss.
        of_each: the gradients of each device of this process, of the same variables in the same
            order.
    """
    complete = _with_gradients_everywhere(of_each)
    if spread.is_single:
        return complete
    gradients = [[gradient for gradient, _ in pairs] for pairs in complete]
    copies = [[variable for _, variable in pairs] for pairs in complete]
    # Such an optimizer adds up the gradients of the processes itself.
    if self_exchange.is_wanted(optimizer) and self_exchange.current() is not None:
        return [_for_all_copies(spread.mean_here(gradients), copies)]
    if spread.everywhere is not None:
        own_means = spread.means_of_each(gradients)
        return [
            list(zip(of_device, variables, strict=True))
            for of_device, variables in zip(own_means, copies, strict=True)
        ]
    return [_for_all_copies(spread.mean(gradients), copies)]


def _with_gradients_everywhere(of_each: Sequence[GradsAndVars]) -> list[GradsAndVars]:
    """Each device's gradients, without the variables that lack a gradient on some device."""
    of_variables = zip(*of_each, strict=True)
    complete = [all(gradient is not None for gradient, _ in pairs) for pairs in of_variables]
    return [list(itertools.compress(pairs, complete)) for pairs in of_each]


def _for_all_copies(means: Sequence[Any], copies: Sequence[Sequence[tf.Variable]]) -> GradsAndVars:
    """Pairs each mean with every device's copy of its variable, and with a shared variable once."""
    found: GradsAndVars = []
    for mean, variables in zip(means, zip(*copies, strict=True), strict=True):
        distinct = {id(variable): variable for variable in variables}
        found += [(mean, variable) for variable in distinct.values()]
    return found


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
