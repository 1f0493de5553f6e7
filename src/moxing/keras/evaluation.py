"""Evaluates the model with its own `evaluate` between two steps of training."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from moxing.errors import MoxValueError
from moxing.keras import data, misfit
from moxing.keras.building.trace import eager_mode
from moxing.keras.data import Arrays, Made


def read(
    eval_data: Any,
    batch_size: int | None,
    steps: int | None,
    name: str = "eval_data",
    limits: str = "eval_steps= or validation_steps=",
) -> Arrays | Made | None:
    """Returns data that is read to its end; None: there is no such data.

    Args:
        eval_data: data in a form that `fit` accepts.
        batch_size: see `fit`.
        steps: the number of batches to read; None: all.
        name: the name of the argument that has the data, for messages.
        limits: the arguments that limit the number of batches, for messages.

    Raises:
        MoxTypeError, MoxValueError: the data has no supported form, or is infinite without `steps`.
    """
    if eval_data is None:
        return None
    if steps is None and isinstance(eval_data, Generator):
        raise MoxValueError(
            f"{name} is a generator, whose end can't be seen before it. Pass {limits}."
        )
    given = data.read(eval_data, batch_size, name)
    if steps is None and data.endless(given):
        raise MoxValueError(
            f"The dataset of {name} has no end, so reading all of it would have none. Pass"
            f" {limits.split(' ')[0]}, or leave .repeat() out."
        )
    return given


def maker(
    model: Any, given: Arrays | Made | None, steps: int | None
) -> Callable[[], dict[str, float]] | None:
    """Returns a function that computes the model's metrics, by name; None: there is no data.

    The function raises MoxValueError if a dataset turns out to have no batch, or if its labels are
    not among the model's classes.

    Args:
        model: the compiled model.
        given: the data.
        steps: the number of batches to evaluate; None: all.
    """
    if given is None:
        return None

    def evaluate() -> dict[str, float]:
        with eager_mode(), misfit.told_in_steps("eval_data", given.element, model):
            values = _evaluate(model, given, steps)
            model.reset_metrics()
        if not values:
            raise MoxValueError(
                "The dataset of eval_data is empty: it ended before the first batch. Check the"
                " path, pattern or filter that it reads with."
            )
        return {name: float(value) for name, value in values.items()}

    return evaluate


def _evaluate(model: Any, given: Any, steps: int | None) -> dict[str, Any]:
    common = {"verbose": 0, "return_dict": True, "steps": steps}
    if isinstance(given, Arrays):
        x, y, weight = (*given.nest, None, None)[:3]
        return model.evaluate(x, y, sample_weight=weight, batch_size=given.batch_size, **common)
    return model.evaluate(given.batched, **common)
