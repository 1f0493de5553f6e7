"""Opens the trackers that a run names."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from moxing.engine.reporting.trackers.mlflow_run import MlflowRun
from moxing.engine.reporting.trackers.tracker import Sender, Tracker
from moxing.engine.reporting.trackers.wandb_run import WandbRun
from moxing.errors import MoxRuntimeError

_KINDS: Final[Mapping[str, Callable[[str | None, Mapping[str, Any]], Tracker]]] = {
    "wandb": WandbRun,
    "mlflow": MlflowRun,
}
# Advice for a tracker that can't start a run, by the tracker's name.
_ADVICE: Final = {
    "wandb": "`wandb login`, or set WANDB_MODE=offline",
    "mlflow": "check MLFLOW_TRACKING_URI",
}
# A tracker can fail by exceptions that are no Exception of Python's, such as SystemExit.
_FAILURES: Final = (Exception, SystemExit)


def opened(names: Sequence[str], log_dir: str | None, facts: Mapping[str, Any]) -> Sender:
    """Starts a run in each tracker.

    Args:
        names: "wandb", "mlflow".
        log_dir: the run's directory, whose last part names the run; None: the tracker names it.
        facts: the configuration of the run.

    Raises:
        MoxRuntimeError: a tracker can't start a run.
    """
    made: list[Tracker] = []
    title = os.path.basename(os.path.normpath(log_dir)) if log_dir else None
    for name in names:
        try:
            made.append(_KINDS[name](title, facts))
        except _FAILURES as error:
            Sender(made).close(failed=True)
            raise MoxRuntimeError(
                f"{name}, which MOX_LOGGERS (mox run --loggers) names, starts no run:"
                f" {type(error).__name__}: {error}. To go on: {_ADVICE[name]}; or leave {name} out."
            ) from error
    return Sender(made)
