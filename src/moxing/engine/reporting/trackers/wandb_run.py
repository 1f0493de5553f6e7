"""Sends a run to Weights & Biases, by the user's own installation and settings of wandb."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any


class WandbRun:
    """The program's own W&B run if one is active; else a new one, which `finish` ends.

    Args:
        name: the name of a new run; WANDB_NAME wins.
        facts: the configuration of the run.
    """

    def __init__(self, name: str | None, facts: Mapping[str, Any]) -> None:
        import wandb

        self.name = "wandb"
        self._own = wandb.run is None
        self._run: Any = wandb.run
        if self._own:
            named = None if os.environ.get("WANDB_NAME") else name
            self._run = wandb.init(name=named, config=dict(facts))
        else:
            self._run.config.update(dict(facts), allow_val_change=True)
        # The program's own calls of log() count steps of their own.
        self._run.define_metric("global_step", hidden=True)
        self._defined: set[str] = set()

    def log(self, step: int, values: Mapping[str, float]) -> None:
        for name in values.keys() - self._defined:
            self._run.define_metric(name, step_metric="global_step")
            self._defined.add(name)
        self._run.log({**values, "global_step": step})

    def finish(self, failed: bool) -> None:
        if self._own:
            self._run.finish(exit_code=int(failed))

    def release(self, failed: bool) -> None:
        pass
