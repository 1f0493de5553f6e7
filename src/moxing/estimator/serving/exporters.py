"""Exporters of an EvalSpec, which decide which evaluated checkpoints to export."""

from __future__ import annotations

import glob
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from moxing.engine.remote.path_alias import local_path
from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.estimator.counts import whole
from moxing.estimator.running import records
from moxing.estimator.serving import publishing
from moxing.framework import file
from moxing.logs import TENSORFLOW

_KEEP = 5


class Exporter(ABC):
    """Base class of exporters, which `train_and_evaluate` calls after each evaluation."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the exporter's folder in `export` of model_dir."""

    @abstractmethod
    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> bytes | str | None:
        """Exports the checkpoint, or decides not to.

        Args:
            estimator: the Estimator that was evaluated.
            export_path: the directory of this exporter's exports.
            checkpoint_path: the checkpoint that was evaluated.
            eval_result: the metrics of the evaluation, by name.
            is_the_final_export: whether training is over.

        Returns:
            The directory of the export; None: nothing was exported.
        """


class SavedModelExporter(Exporter):
    """Base class of exporters that write SavedModels.

    Args:
        name: the name of the exporter's folder in `export` of model_dir.
        serving_input_receiver_fn: see `Estimator.export_saved_model`.
        assets_extra: files to copy, by their path within `assets.extra` of an export.
        as_text: whether the graph is written as text.
        exports_to_keep: the number of exports to keep, the newest; None: all.

    Raises:
        MoxTypeError, MoxValueError: an argument that can't be used.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any] | None,
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = None,
    ) -> None:
        kind = type(self).__name__
        if not isinstance(name, str) or not name:
            raise MoxValueError(f"{kind} has the name {shown(name)}; give one.")
        if not callable(serving_input_receiver_fn):
            raise MoxTypeError(
                f"{kind} has serving_input_receiver_fn={shown(serving_input_receiver_fn)}, which is"
                " no function."
            )
        count = None if exports_to_keep is None else whole(exports_to_keep)
        if exports_to_keep is not None and (count is None or count <= 0):
            raise MoxValueError(
                f"{kind} has exports_to_keep={shown(exports_to_keep)}; it must be a number above 0,"
                " or None."
            )
        self._name, self._receiver_fn = name, serving_input_receiver_fn
        self._assets, self._as_text, self._keep = dict(assets_extra or {}), as_text, count

    @property
    def name(self) -> str:
        return self._name

    def check(self, export_path: str) -> None:
        """Raises an error, before training, if nothing could be exported.

        Raises:
            MoxValueError: a file has the directory's path, or an asset does not exist.
        """
        publishing.check(export_path, self._assets)

    def _write(self, estimator: Any, export_path: str, checkpoint_path: str | None) -> bytes:
        made = estimator.export_saved_model(
            export_path,
            self._receiver_fn,
            assets_extra=self._assets,
            as_text=self._as_text,
            checkpoint_path=checkpoint_path,
        )
        if self._keep is not None:
            _delete_older(export_path, self._keep)
        return made


class FinalExporter(SavedModelExporter):
    """Exports once, after training; see SavedModelExporter for its arguments."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> bytes | None:
        del eval_result
        if not is_the_final_export:
            return None
        return self._write(estimator, export_path, checkpoint_path)


class LatestExporter(SavedModelExporter):
    """Exports every evaluated checkpoint; see SavedModelExporter for its arguments."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = _KEEP,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        self._last: tuple[str, bytes] | None = None

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> bytes | None:
        del eval_result, is_the_final_export
        if self._last is None or self._last[0] != checkpoint_path:
            self._last = checkpoint_path, self._write(estimator, export_path, checkpoint_path)
        return self._last[1]


def loss_smaller(
    best_eval_result: Mapping[str, Any], current_eval_result: Mapping[str, Any]
) -> bool:
    """Whether the current loss is below the best one; the default compare_fn of BestExporter.

    Raises:
        MoxValueError: an evaluation has no loss.
    """
    for result in (best_eval_result, current_eval_result):
        if not result or "loss" not in result:
            raise MoxValueError(
                "BestExporter compares the loss of evaluations, and one has none. Pass a"
                " compare_fn(best_eval_result, current_eval_result)."
            )
    return best_eval_result["loss"] > current_eval_result["loss"]


class BestExporter(SavedModelExporter):
    """Exports each checkpoint that is better than all earlier ones, including earlier runs'.

    Args:
        name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep: see
            SavedModelExporter.
        event_file_pattern: a glob pattern, relative to model_dir, of the event files of earlier
            runs' evaluations; None: earlier runs are ignored.
        compare_fn: a function of best_eval_result and current_eval_result that returns whether the
            current result is better.
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Callable[[], Any] | None = None,
        event_file_pattern: str | None = "eval/*.tfevents.*",
        compare_fn: Callable[..., bool] = loss_smaller,
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = _KEEP,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        if not callable(compare_fn):
            raise MoxTypeError(
                f"BestExporter has compare_fn={shown(compare_fn)}, which is no function."
            )
        self._better, self._pattern = compare_fn, event_file_pattern
        self._best: Mapping[str, Any] | None = None
        self._model_dir: str | None = None

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> bytes | None:
        del is_the_final_export
        if self._model_dir != estimator.model_dir:
            self._model_dir = estimator.model_dir
            self._best = self._of_earlier_runs(int(eval_result.get("global_step", -1)))
        best = self._best
        if best is not None and not self._better(
            best_eval_result=best, current_eval_result=eval_result
        ):
            return None
        TENSORFLOW.info("Exporting %s, the best one up to now.", checkpoint_path)
        self._best = dict(eval_result)
        return self._write(estimator, export_path, checkpoint_path)

    def _of_earlier_runs(self, step: int) -> Mapping[str, Any] | None:
        """Returns the best of model_dir's recorded evaluations at other steps; None if none is."""
        if not self._pattern or self._model_dir is None:
            return None
        pattern = os.path.join(glob.escape(local_path(self._model_dir)), self._pattern)
        best: Mapping[str, Any] | None = None
        for known, values in records.of_files(glob.glob(pattern)).items():
            if known == step:
                continue
            if best is None or self._better(best_eval_result=best, current_eval_result=values):
                best = values
        return best


class StepsExporter(SavedModelExporter):
    """Exports the first evaluated checkpoint at or after each of some steps.

    Args:
        steps_to_keep: the global steps, each above 0.
        others: see SavedModelExporter; all exports are kept.
    """

    def __init__(
        self,
        steps_to_keep: Sequence[int],
        name: str = "steps_exporter",
        serving_input_receiver_fn: Callable[[], Any] | None = None,
        event_file_pattern: str | None = None,
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
    ) -> None:
        del event_file_pattern
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        steps = [whole(step) for step in steps_to_keep]
        if not steps or any(step is None or step <= 0 for step in steps):
            raise MoxValueError(
                f"StepsExporter has steps_to_keep={shown(steps_to_keep)}; it must be a list of"
                " numbers above 0."
            )
        self._steps = sorted(step for step in steps if step is not None)

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> bytes | None:
        del is_the_final_export
        step = int(eval_result["global_step"])
        due = [wanted for wanted in self._steps if wanted <= step]
        if not due:
            return None
        self._steps = self._steps[len(due) :]
        return self._write(estimator, export_path, checkpoint_path)


def directory_of(exporter: Exporter, model_dir: str) -> str:
    """Returns the directory of an exporter's exports."""
    return os.path.join(model_dir, "export", exporter.name)


def _delete_older(base: str, keep: int) -> None:
    """Deletes all but the newest exports, whose names are timestamps."""
    times = sorted(int(name) for name in file.list_directory(base) if name.isdecimal())
    for time in times[:-keep]:
        file.remove(os.path.join(base, str(time)), recursive=True)
