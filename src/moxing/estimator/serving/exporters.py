"""Exporters of an EvalSpec: what they say is done by `train_and_evaluate`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.estimator.serving import publishing


@dataclass(frozen=True)
class FinalExporter:
    """Exports once, after training, to `export/<name>` of the model's directory.

    Attributes:
        name: of the folder.
        serving_input_receiver_fn: as of `Estimator.export_saved_model`.
        assets_extra: files by their path within `assets.extra` of the export.
        as_text: whether the graph is written as text.
    """

    name: str
    serving_input_receiver_fn: Callable[[], Any]
    assets_extra: Mapping[str, str] | None = None
    as_text: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise MoxValueError(f"FinalExporter has the name {shown(self.name)}; give one.")
        if not callable(self.serving_input_receiver_fn):
            raise MoxTypeError(
                f"FinalExporter has serving_input_receiver_fn="
                f"{shown(self.serving_input_receiver_fn)}, which is no function."
            )

    def directory(self, estimator: Any) -> str:
        """Where the exports of an estimator go."""
        return os.path.join(estimator.model_dir, "export", self.name)

    def check(self, estimator: Any) -> None:
        """Raises, before training, where nothing could be exported.

        Raises:
            MoxValueError: a file is in the way, or an asset is not there.
        """
        publishing.check(self.directory(estimator), self.assets_extra or {})

    def export(self, estimator: Any) -> bytes:
        """Exports the newest checkpoint; returns the directory."""
        return estimator.export_saved_model(
            self.directory(estimator),
            self.serving_input_receiver_fn,
            assets_extra=self.assets_extra,
            as_text=self.as_text,
        )
