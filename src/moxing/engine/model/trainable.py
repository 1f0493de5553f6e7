"""Chooses the variables that a run trains, and those that a loss trains."""

from __future__ import annotations

import re
from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from moxing.engine.job.job import Loss
from moxing.errors import MoxValueError


def of_graph(include: Sequence[str], exclude: Sequence[str]) -> list[tf.Variable]:
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


def of_loss(loss: Loss, label: str, variables: Sequence[tf.Variable]) -> list[tf.Variable]:
    """The variables that a loss trains: all of `variables`, or those below its scopes.

    Args:
        loss: the loss.
        label: the loss as messages call it.
        variables: the variables that the run trains.

    Raises:
        MoxValueError: there are no variables, or a scope has none of them.
    """
    moved = in_scopes(variables, loss.scopes) if loss.scopes else list(variables)
    empty = [scope for scope in loss.scopes if not in_scopes(variables, [scope])]
    if empty or not moved:
        raise _no_variables(label, empty, variables)
    return moved


def in_scopes(variables: Sequence[tf.Variable], scopes: Sequence[str]) -> list[tf.Variable]:
    """The variables below one of the scopes; a scope matches whole components of a name."""
    prefixes = [scope.rstrip("/") for scope in scopes]
    return [
        variable
        for variable in variables
        if any(_name(variable) == p or _name(variable).startswith(p + "/") for p in prefixes)
    ]


def _matches(variable: tf.Variable, patterns: Sequence[str]) -> bool:
    return any(re.search(pattern, _name(variable)) for pattern in patterns)


def _name(variable: tf.Variable) -> str:
    return variable.name.split(":")[0]


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
