"""Builds, from the losses of a model, one operation that makes one training step."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph.rewrites import precision, pruning
from moxing.engine.graph.rewrites.precision import LossScale
from moxing.engine.job.job import Loss
from moxing.engine.job.updating import Updating
from moxing.engine.model import also, averages, clipping, learning_rate
from moxing.engine.model.accumulation import Accumulation
from moxing.engine.parallel import self_exchange, variable_reads
from moxing.engine.parallel.reduce import Spread
from moxing.engine.parallel.replicas import Replica
from moxing.engine.wording import user_calls
from moxing.errors import MoxTypeError, MoxValueError

GradsAndVars = list[tuple[Any, tf.Variable]]
_NO_SCALE = LossScale()
_AS_THEY_ARE = Updating()


def train_op(
    spread: Spread,
    optimizer_fns: Sequence[Callable[[], tf.train.Optimizer]],
    variables: Sequence[tf.Variable],
    global_step: tf.Variable,
    scale: LossScale = _NO_SCALE,
    updating: Updating = _AS_THEY_ARE,
    accumulation: Accumulation | None = None,
) -> tf.Operation:
    """Builds one step: every update of batch-norm statistics, every gradient, then every optimizer.

    All gradients are of the same forward pass: no optimizer moves a variable before the last
    gradient is computed. The global step counts one, however many losses there are.

    Args:
        spread: the models, one a device, and how their gradients meet.
        optimizer_fns: one function for each loss; each is called once.
        variables: the first model's variables that may be trained.
        global_step: incremented once, also by a step that a dynamic loss scale leaves out.
        scale: the factor of the losses while gradients are computed.
        updating: how mean gradients are changed before an optimizer gets them.
        accumulation: the batches of a step; None if a step is one batch.
    """
    accumulation = accumulation or Accumulation()
    clipping.offer(updating)
    optimizers = [_make_optimizer(function) for function in optimizer_fns]
    with learning_rate.scalable(optimizers):
        step = _step(spread, optimizers, variables, global_step, scale, updating, accumulation)
    if updating.average_decay is None or not spread.applies:
        return step
    return averages.keep(step, variables, updating.average_decay, global_step)


def _step(
    spread: Spread,
    optimizers: Sequence[tf.train.Optimizer],
    variables: Sequence[tf.Variable],
    global_step: tf.Variable,
    scale: LossScale,
    updating: Updating,
    accumulation: Accumulation,
) -> tf.Operation:
    count = len(spread.replicas[0].model.losses)
    # All processes must leave out the same steps, so they have to decide by equal gradients.
    if spread.between is not None and spread.apart and not scale.dynamic:
        self_exchange.offer(spread.between)
    of_each = [
        [_gradients(replica, optimizer, index, variables, scale) for replica in spread.replicas]
        for index, optimizer in enumerate(optimizers)
    ]
    first: list[tf.Operation] = [op for replica in spread.replicas for op in replica.updates]
    if accumulation.batches > 1:
        if scale.dynamic:
            now = [gradient for one in of_each for pairs in one for gradient, _ in pairs]
            first = precision.undo_unless(precision.all_finite(now), first)
        accumulation.also(first)
        of_each = [
            [
                accumulation.means(replica, str(index), pairs)
                for replica, pairs in zip(spread.replicas, one, strict=True)
            ]
            for index, one in enumerate(of_each)
        ]
    means = [
        _mean_gradients(spread, optimizer, one)
        for optimizer, one in zip(optimizers, of_each, strict=True)
    ]
    also.keep_gradients([[gradient for gradient, _ in one[0]] for one in means])
    read = variable_reads.of(spread.replicas)
    gradients = [gradient for one in means for pairs in one for gradient, _ in pairs]
    if not spread.applies:
        return tf.group(*(gradient.op for gradient in gradients))
    moments = [
        _updated_with(spread, one, updating if not clipping.clips_itself(optimizer) else None)
        for optimizer, one in zip(optimizers, means, strict=True)
    ]
    if count == 1 and not scale.dynamic:
        with tf.control_dependencies(
            [*first, *variable_reads.unordered(read, optimizers[0], moments[0])]
        ):
            return _apply(optimizers[0], moments[0], global_step)
    first += [tf.group(*read)] if read else []

    def update() -> tf.Operation:
        return tf.group(
            *(
                _apply(optimizer, pairs)
                for optimizer, pairs in zip(optimizers, moments, strict=True)
            )
        )

    finite = precision.all_finite(gradients) if scale.dynamic else tf.constant(True)
    if scale.dynamic and accumulation.batches == 1:
        first = precision.undo_unless(finite, first)
    with tf.control_dependencies([*first, *(gradient.op for gradient in gradients)]):
        applied = scale.apply(finite, update)
    with tf.control_dependencies([applied]):
        return global_step.assign_add(1, name="train_step", read_value=False)


def in_scopes(variables: Sequence[tf.Variable], scopes: Sequence[str]) -> list[tf.Variable]:
    """The variables below one of the scopes; a scope matches whole components of a name."""
    prefixes = [scope.rstrip("/") for scope in scopes]
    return [
        variable
        for variable in variables
        if any(_name(variable) == p or _name(variable).startswith(p + "/") for p in prefixes)
    ]


def trainable(include: Sequence[str], exclude: Sequence[str]) -> list[tf.Variable]:
    """The graph's trainable variables whose names match `include` (if any) and not `exclude`."""
    variables = tf.trainable_variables()
    chosen = [
        variable
        for variable in variables
        if (not include or _matches(variable, include)) and not _matches(variable, exclude)
    ]
    if variables and not chosen:
        raise MoxValueError(
            f"trainable_include_patterns={','.join(include)!r} and trainable_exclude_patterns="
            f"{','.join(exclude)!r} leave none of the {len(variables)} variables to train, such as"
            f" {_name(variables[0])}. Change the patterns (regular expressions, comma-separated)."
        )
    return chosen


def _matches(variable: tf.Variable, patterns: Sequence[str]) -> bool:
    return any(re.search(pattern, _name(variable)) for pattern in patterns)


def _name(variable: tf.Variable) -> str:
    return variable.name.split(":")[0]


def _make_optimizer(optimizer_fn: Callable[[], tf.train.Optimizer]) -> tf.train.Optimizer:
    optimizer = user_calls.call("optimizer_fn", optimizer_fn)
    if not isinstance(optimizer, tf.train.Optimizer):
        raise MoxTypeError(
            f"optimizer_fn returned a {type(optimizer).__module__}."
            f"{type(optimizer).__qualname__}, not a tf.train.Optimizer. Return one of tf.train,"
            " such as tf.train.AdamOptimizer(0.001), or mox.get_optimizer_fn('adam', 0.001)()."
        )
    return optimizer


def _mean_gradients(
    spread: Spread, optimizer: tf.train.Optimizer, of_each: Sequence[GradsAndVars]
) -> list[GradsAndVars]:
    """Returns the mean gradients of one loss over all devices, for every copy of its variables.

    The result has a list for each device that computes the mean itself: all devices, or the first.

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
            [(mean, pairs[number][1]) for number, mean in zip(moved, means, strict=True)]
            for pairs, means in zip(of_each, spread.means_of_each(gradients), strict=True)
        ]
    means = spread.mean_here(gradients) if by_itself else spread.mean(gradients)
    # Devices that share their variables list the same variable several times.
    return [
        [
            (mean, variable)
            for number, mean in zip(moved, means, strict=True)
            for variable in {id(pairs[number][1]): pairs[number][1] for pairs in of_each}.values()
        ]
    ]


def _gradients(
    replica: Replica,
    optimizer: tf.train.Optimizer,
    index: int,
    variables: Sequence[tf.Variable],
    scale: LossScale,
) -> GradsAndVars:
    """Returns a device's gradients; None for each variable on which the loss does not depend."""
    losses = replica.model.losses
    loss = losses[index]
    label = "loss" if len(losses) == 1 else f"loss[{index}]"
    moved = in_scopes(variables, loss.scopes) if loss.scopes else list(variables)
    empty = [scope for scope in loss.scopes if not in_scopes(variables, [scope])]
    if empty or not moved:
        raise _no_variables(label, empty, variables)
    own = [replica.own(variable) for variable in moved]
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
            " differentiable operations (argmax, round, cast to int and py_func have none)."
        )
    return pairs


def _updated_with(
    spread: Spread, of_each: Sequence[GradsAndVars], updating: Updating | None
) -> GradsAndVars:
    """Returns the gradients for an optimizer; each device clips its own.

    Args:
        spread: the devices.
        of_each: the mean gradients of one loss, from each device that computes them.
        updating: the limits; None if the optimizer clips.
    """
    found: GradsAndVars = []
    for replica, pairs in zip(spread.replicas, of_each, strict=False):
        if updating is None:
            found += pairs
            continue
        with tf.device(replica.device):
            # Copies of a variable may share a gradient.
            gradients = list({id(gradient): gradient for gradient, _ in pairs}.values())
            limited = clipping.clipped(gradients, updating)
        known = {id(old): new for old, new in zip(gradients, limited, strict=True)}
        found += [(known[id(gradient)], variable) for gradient, variable in pairs]
    return found


def _apply(
    optimizer: tf.train.Optimizer, pairs: GradsAndVars, global_step: tf.Variable | None = None
) -> tf.Operation:
    role = f"{type(optimizer).__name__}'s"
    return user_calls.call(role, optimizer.apply_gradients, pairs, global_step)


def _no_variables(
    label: str, scopes: Sequence[str], variables: Sequence[tf.Variable]
) -> MoxValueError:
    if not variables:
        return MoxValueError(
            "model_fn made no trainable variables. Make them with tf.get_variable(...) inside"
            " model_fn."
        )
    roots = sorted({_name(variable).split("/")[0] for variable in variables})
    return MoxValueError(
        f"var_scopes of {label} match no trainable variable: {list(scopes)}. Scopes of this"
        f" model are {roots}; a scope matches whole components of a name."
    )


def _within(loss: Loss) -> str:
    return f" under {list(loss.scopes)}" if loss.scopes else ""
