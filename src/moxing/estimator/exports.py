"""Calls the exporters of an EvalSpec, after evaluations and after training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from moxing.estimator.estimator import Estimator
from moxing.estimator.serving.exporters import Exporter, SavedModelExporter, directory_of


class Exports:
    """The exports of a training.

    Args:
        estimator: that is trained.
        exporters: of its EvalSpec.
    """

    def __init__(self, estimator: Estimator, exporters: Sequence[Exporter]) -> None:
        self._estimator, self._exporters = estimator, tuple(exporters)

    def check(self) -> None:
        """Raises, before training, where nothing could be exported.

        Raises:
            MoxValueError: a file is in the way, or an asset is not there.
        """
        for exporter in self._exporters:
            if isinstance(exporter, SavedModelExporter):
                exporter.check(directory_of(exporter, self._estimator.model_dir))

    def evaluated(self, values: Mapping[str, Any], checkpoint: str) -> None:
        """Lets each exporter see an evaluation while training goes on."""
        self._call(values, checkpoint, False)

    def last(self, values: Mapping[str, Any]) -> list[Any]:
        """Lets each see the last evaluation; returns the directories of what they exported."""
        checkpoint = self._estimator.latest_checkpoint()
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
