"""Keeps the best checkpoints by the metrics of evaluations."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from moxing.engine.checkpoint.best import BestFolder, Metric, adopt
from moxing.engine.job.ranking import Ranking
from moxing.engine.remote import placing
from moxing.engine.remote.at_hand import at_hand
from moxing.engine.remote.path_alias import local_path
from moxing.estimator.config import RunConfig
from moxing.flags import saving
from moxing.framework import file


def ranking(config: RunConfig) -> Ranking | None:
    """Returns the metric whose best checkpoints are kept; None: there is none.

    Raises:
        MoxValueError: MOX_KEEP_BEST names no metric.
    """
    return saving.best(config.keep_best, "RunConfig's keep_best")


class BestOfEvaluations:
    """The best checkpoints of an Estimator, copied from those that it evaluates.

    Args:
        config: the Estimator's RunConfig, with its model_dir.
    """

    def __init__(self, config: RunConfig) -> None:
        assert config.model_dir is not None
        self._config, self._model_dir = config, config.model_dir
        self._folders: dict[str, BestFolder] = {}
        self._metric: Metric | None = None

    def offer(self, prefix: str | None, name: str | None, values: Mapping[str, Any]) -> None:
        """Keeps an evaluated checkpoint of model_dir if its metric is among the best.

        Args:
            prefix: the checkpoint; None: the model had none.
            name: the name of the evaluation, which stands before the names of its metrics.
            values: the metrics by name.

        Raises:
            CheckpointError: the disk can't be written.
            OSError: the store fails.
        """
        wanted = ranking(self._config)
        where = local_path(self._model_dir)
        if wanted is None or prefix is None or not _is_in(where, prefix):
            return
        if self._metric is None:
            self._metric = Metric(wanted)
        named = {f"{name}/{key}" if name else key: value for key, value in values.items()}
        value = self._metric.value_in(named)
        if value is None:
            return
        if file.is_remote(where):
            with at_hand(prefix) as local:
                placing.adopt(where, wanted, local.prefix, value)
            return
        if where not in self._folders:
            self._folders[where] = BestFolder(where, wanted)
        folder = self._folders[where]
        if adopt(folder, prefix, value):
            folder.say()


def _is_in(folder: str, prefix: str) -> bool:
    """Whether a checkpoint lies in a folder, and not in a folder inside of it."""
    above = os.path.dirname(prefix)
    if file.is_remote(folder):
        return above == folder.rstrip("/")
    return os.path.realpath(above) == os.path.realpath(folder)
