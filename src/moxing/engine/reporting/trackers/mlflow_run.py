"""Sends a run to MLflow, by the user's own installation and settings of mlflow."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from typing import Any, Final

_FORBIDDEN: Final = re.compile(r"[^/\w.\- :]")
_LONGEST_PARAM: Final = 500


class MlflowRun:
    """The program's own MLflow run if one is active; else a new one, which `finish` ends.

    Args:
        name: the name of a new run; MLFLOW_RUN_NAME wins.
        facts: the parameters of the run.
    """

    def __init__(self, name: str | None, facts: Mapping[str, Any]) -> None:
        import mlflow

        self.name = "mlflow"
        active = mlflow.active_run()
        self._own = active is None
        if active is None:
            active = mlflow.start_run(run_name=None if os.environ.get("MLFLOW_RUN_NAME") else name)
        self._run_id: str = active.info.run_id
        self._mlflow: Any = mlflow
        # MLflow's active run belongs to this thread, while a client can be called in any.
        self._client: Any = mlflow.MlflowClient()
        known = active.data.params
        for key, value in facts.items():
            if _plain(key) not in known:  # A parameter can't change, and a run may be continued.
                self._client.log_param(self._run_id, _plain(key), str(value)[:_LONGEST_PARAM])

    def log(self, step: int, values: Mapping[str, float]) -> None:
        metric, now = self._mlflow.entities.Metric, int(time.time() * 1000)
        metrics = [metric(_plain(name), float(v), now, step) for name, v in values.items()]
        self._client.log_batch(self._run_id, metrics=metrics)

    def finish(self, failed: bool) -> None:
        if self._own:
            self._client.set_terminated(self._run_id, "FAILED" if failed else "FINISHED")

    def release(self, failed: bool) -> None:
        active = self._mlflow.active_run()
        if self._own and active is not None and active.info.run_id == self._run_id:
            self._mlflow.end_run("FAILED" if failed else "FINISHED")


def _plain(name: str) -> str:
    """Returns a name that MLflow takes."""
    return _FORBIDDEN.sub("_", name.lstrip("-")).strip("/ ") or "_"
