"""Evaluates the model as it is, by its own `evaluate`, between two steps of training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moxing.errors import MoxValueError
from moxing.keras import data, misfit
from moxing.keras.building.trace import eager_mode
from moxing.keras.data import Arrays, Made


def read(eval_data: Any, batch_size: int | None, steps: int | None) -> Arrays | Made | None:
    """The data to evaluate on; None: there is none.

    Args:
        eval_data: in a form that `fit` takes.
        batch_size: as of `fit`.
        steps: batches to take; None: all.

    Raises:
        MoxTypeError, MoxValueError: data of no known form, or without end.
    """
    if eval_data is None:
        return None
    given = data.read(eval_data, batch_size, "eval_data")
    if steps is None and data.endless(given):
        raise MoxValueError(
            "The dataset of eval_data has no end, so an evaluation of all of it would have none."
            " Pass eval_steps=, or leave .repeat() out."
        )
    return given


def maker(
    model: Any, given: Arrays | Made | None, steps: int | None
) -> Callable[[], dict[str, float]] | None:
    """A function that gives the model's metrics on data, by name; None: there is no data.

    The function raises MoxValueError where a dataset turns out to have no batch, or labels that
    the model does not have.

    Args:
        model: compiled.
        given: the data.
        steps: batches to take; None: all.
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
