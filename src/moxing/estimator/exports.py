"""Calls the exporters of an EvalSpec, after evaluations and after training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from moxing.estimator.estimator import Estimator
from moxing.estimator.serving.exporters import Exporter, SavedModelExporter, directory_of


class Exports:
    """The exporters of a training, which run after evaluations.

    Args:
        estimator: the Estimator that is trained.
        exporters: the exporters of the EvalSpec.
    """

    def __init__(self, estimator: Estimator, exporters: Sequence[Exporter]) -> None:
        self._estimator, self._exporters = estimator, tuple(exporters)

    def check(self) -> None:
        """Raises an error, before training, if an exporter could not export.

        Raises:
            MoxValueError: a file has the directory's path, or an asset does not exist.
        """
        for exporter in self._exporters:
            if isinstance(exporter, SavedModelExporter):
                exporter.check(directory_of(exporter, self._estimator.model_dir))

    def evaluated(self, values: Mapping[str, Any], checkpoint: str) -> None:
        """Calls each exporter after an evaluation during training."""
        self._call(values, checkpoint, False)

    def last(self, values: Mapping[str, Any]) -> list[Any]:
        """Calls each exporter after the last evaluation; returns the directories they wrote."""
        checkpoint = self._estimator.latest_unsaid()
        assert checkpoint is not None
        return self._call(values, checkpoint, True)

    def _call(self, values: Mapping[str, Any], checkpoint: str, final: bool) -> list[Any]:
        model_dir = self._estimator.model_dir
        made = [
            exporter.export(
                estimator=self._estimator,
                export_path=directory_of(exporter, model_dir),
                checkpoint_path=checkpoint,
                eval_result=values,
                is_the_final_export=final,
            )
            for exporter in self._exporters
        ]
        return [directory for directory in made if directory is not None]
