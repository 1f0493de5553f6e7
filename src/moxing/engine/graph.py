"""From the losses of a model to one operation that makes one training step."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine import callbacks, precision, updates
from moxing.engine.job import Loss
from moxing.engine.precision import LossScale
from moxing.errors import MoxTypeError, MoxValueError

GradsAndVars = list[tuple[Any, tf.Variable]]
_NO_SCALE = LossScale()


def train_op(
    losses: Sequence[Loss],
    optimizer_fns: Sequence[Callable[[], tf.train.Optimizer]],
    variables: Sequence[tf.Variable],
    global_step: tf.Variable,
    scale: LossScale = _NO_SCALE,
) -> tf.Operation:
    """Builds one step: every update of batch-norm statistics, every gradient, then every optimizer.

    All gradients are of the same forward pass: no optimizer moves a variable before the last
    gradient is computed. The global step counts one, however many losses there are.

    Args:
        losses: each with the scopes of the variables it may move.
        optimizer_fns: as many as losses; each called once.
        variables: the variables that may be trained at all.
        global_step: incremented once, also by a step that a dynamic loss scale leaves out.
        scale: what the losses are multiplied by while gradients are taken.
    """
    optimizers = [_make_optimizer(function) for function in optimizer_fns]
    moments = [
        _gradients(optimizer, loss, index if len(losses) > 1 else None, variables, scale)
        for index, (optimizer, loss) in enumerate(zip(optimizers, losses, strict=True))
    ]
    first = updates.collect()
    if len(losses) == 1 and not scale.dynamic:
        with tf.control_dependencies(first):
            return _apply(optimizers[0], moments[0], global_step)
    gradients = [gradient for pairs in moments for gradient, _ in pairs]

    def update() -> tf.Operation:
        return tf.group(
            *(
                _apply(optimizer, pairs)
                for optimizer, pairs in zip(optimizers, moments, strict=True)
            )
        )

    finite = precision.all_finite(gradients) if scale.dynamic else tf.constant(True)
    if scale.dynamic:
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
    optimizer = callbacks.call("optimizer_fn", optimizer_fn)
    if not isinstance(optimizer, tf.train.Optimizer):
        raise MoxTypeError(
            f"optimizer_fn returned a {type(optimizer).__module__}."
            f"{type(optimizer).__qualname__}, not a tf.train.Optimizer. Return one of tf.train,"
            " such as tf.train.AdamOptimizer(0.001), or mox.get_optimizer_fn('adam', 0.001)()."
        )
    return optimizer


def _gradients(
    optimizer: tf.train.Optimizer,
    loss: Loss,
    index: int | None,
    variables: Sequence[tf.Variable],
    scale: LossScale,
) -> GradsAndVars:
    label = "loss" if index is None else f"loss[{index}]"
    own = in_scopes(variables, loss.scopes) if loss.scopes else list(variables)
    empty = [scope for scope in loss.scopes if not in_scopes(variables, [scope])]
    if empty or not own:
        raise _no_variables(label, empty, variables)
    about = f"of {label} ({loss.tensor.name})"
    role = f"{type(optimizer).__name__}'s"
    compute = optimizer.compute_gradients
    scaled = callbacks.call(role, compute, scale.scale(loss.tensor), own, about=about)
    pairs = [(scale.unscale(gradient), v) for gradient, v in scaled if gradient is not None]
    if not pairs:
        raise MoxValueError(
            f"{label} ({loss.tensor.name}) does not depend on any trainable variable"
            f"{_within(loss)}: it has no gradient. Build it from the model's variables with"
            " differentiable operations (argmax, round, cast to int and py_func have none)."
        )
    return pairs


def _apply(
    optimizer: tf.train.Optimizer, pairs: GradsAndVars, global_step: tf.Variable | None = None
) -> tf.Operation:
    role = f"{type(optimizer).__name__}'s"
    return callbacks.call(role, optimizer.apply_gradients, pairs, global_step)


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
