"""`--dry_run` of a Keras model: two updates, an evaluation of one batch, and nothing is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from moxing.engine.job.job import Job, Result
from moxing.engine.run import in_cell, rehearsed
from moxing.keras import arguments
from moxing.keras.callbacks import without_writers
from moxing.keras.result import FitResult
from moxing.logs import TENSORFLOW

# The jobs of the dry fit that is under way, with their results and the inputs of their models;
# None: no dry fit is.
_runs: list[tuple[Job, rehearsed.First, Result]] | None = None


def under_way() -> bool:
    """Whether `fit` is called by `rehearse`."""
    return _runs is not None


def rehearse(fit: Callable[..., FitResult], call: Mapping[str, Any]) -> FitResult:
    """Fits one step, resumes it, and fits one more step, in a scratch folder.

    Args:
        fit: `moxing.keras.fit`.
        call: its arguments by name, with those that it does not name itself under `others`.

    Returns:
        The result of the second fit.

    Raises:
        MoxError: a part of the training can't be run.
    """
    global _runs
    given = {**call, **call["others"], **_SHORT}
    del given["others"]
    given.pop("validation_steps", None)
    given.pop("verbose", None)
    given["callbacks"], left_out = without_writers(call["callbacks"])
    if left_out:
        TENSORFLOW.info("Dry run: left out, as they write files: %s.", ", ".join(left_out))
    folder = arguments.directory(call["output_dir"])
    given["output_dir"] = rehearsed.stand_in(folder)
    _runs = []
    try:
        fit(**given | {"steps": 1})
        result = fit(**given | {"steps": 2})
        (_, first, trained), (job, _, again) = _runs
    finally:
        _runs = None
    first.say_inputs()
    rehearsed.say_checkpoint(trained)
    first.say_memory()
    resumed = ["restored", "trained one more step"] if again.steps else ["found again"]
    evaluated = ["evaluated one batch"] if _evaluates(given) else []
    rehearsed.say_passed(job, ["trained one step", "saved", *resumed, *evaluated])
    return result


def execute(job: Job) -> Result:
    """Runs a job of a dry fit."""
    assert _runs is not None
    first = rehearsed.First(job, stops=False)
    result = in_cell.execute(replace(job, model_fn=first.model_fn))
    _runs.append((job, first, result))
    return result


def one_batch(job: Job) -> Result:
    """Runs a job of an evaluation or a prediction, which takes one batch, and says its shapes."""
    first = rehearsed.First(job, stops=False)
    result = in_cell.execute(replace(job, model_fn=first.model_fn))
    first.say_inputs()
    first.say_memory()
    rehearsed.say_passed(job, ["one batch"])
    return result


# The arguments of both fits: an epoch is one step, and has one batch for its evaluation.
_SHORT = {
    **dict.fromkeys(("epochs", "eval_every", "save_every", "save_every_secs", "keep_best")),
    "steps_per_epoch": 1,
    "eval_steps": 1,
    "log_every": 1,
}


def _evaluates(given: Mapping[str, Any]) -> bool:
    return any(given.get(n) is not None for n in ("eval_data", "validation_data")) or bool(
        given.get("validation_split")
    )
