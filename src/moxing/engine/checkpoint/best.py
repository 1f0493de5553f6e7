"""Keeps the checkpoints with the best values of a metric, beside the newest ones."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint import durable, manifest, pointer, reader
from moxing.engine.checkpoint.directory import ensure_directory
from moxing.engine.checkpoint.manifest import Manifest
from moxing.engine.checkpoint.names import BEST, INDEX, META, data_suffixes, step_of
from moxing.engine.checkpoint.restoring import verify
from moxing.engine.checkpoint.saving import saver as savers
from moxing.engine.checkpoint.saving import stage
from moxing.engine.checkpoint.saving.commit import commit, remove
from moxing.engine.checkpoint.saving.failures import told_as
from moxing.engine.checkpoint.saving.saver import Saver
from moxing.engine.graph import run_context, saveables
from moxing.engine.job.ranking import Ranking
from moxing.engine.parallel import replicas
from moxing.engine.wording import report
from moxing.errors import near_matches
from moxing.logs import TENSORFLOW

_BEST = "best"  # The fact in a manifest.


@dataclass(frozen=True)
class Ranked:
    """A checkpoint with the value of the metric that it is kept for."""

    prefix: str
    step: int
    value: float


class Metric:
    """Reads the metric of the best checkpoints from the values of evaluations.

    Args:
        ranking: the metric.
    """

    def __init__(self, ranking: Ranking) -> None:
        self._ranking, self._settled = ranking, False

    def value_in(self, values: Mapping[str, Any]) -> float | None:
        """The value of the metric; None: it is not among the values, which is said once."""
        metric = self._ranking.metric
        if metric in values:
            self._settled = True
            return float(values[metric])
        if not self._settled:  # The first evaluation tells whether the name is right.
            self._settled = True
            TENSORFLOW.warning(
                "%s names the metric %r, which this evaluation does not have: it has %s.%s No"
                " checkpoint is kept as the best until an evaluation has it.",
                self._ranking.asked_by,
                metric,
                ", ".join(values) or "none",
                near_matches(metric, values),
            )
        return None


class BestFolder:
    """The best checkpoints of a training, in `<log_dir>/best`.

    They are committed like every other checkpoint. Their manifests hold the values of the metric,
    so that a resumed run knows the values to beat. A checkpoint is removed only after the commit of
    the checkpoint that takes its place. The pointer file names the best one.

    Args:
        log_dir: directory of the run.
        ranking: the metric, and how many checkpoints to keep.
        whole: whether the folder has all files of its checkpoints, or their manifests only.
    """

    def __init__(self, log_dir: str, ranking: Ranking, whole: bool = True) -> None:
        self.directory, self.ranking = os.path.join(log_dir, BEST), ranking
        ensure_directory(self.directory)
        self._sign = 1.0 if ranking.grows else -1.0
        self._damaged: set[tuple[str, int]] = set()
        self.kept = self._known(whole)
        if self.kept:  # An earlier run may have been killed before it removed a surplus checkpoint.
            self.settle()

    @property
    def best(self) -> Ranked | None:
        """The best checkpoint; None: there is none yet."""
        return self.kept[0] if self.kept else None

    def takes(self, value: float, step: int) -> bool:
        """Whether a checkpoint with this value at this step is among the best."""
        if not math.isfinite(value):
            return False
        same = next((one for one in self.kept if one.step == step), None)
        if same is None and len(self.kept) < self.ranking.keep:
            return True
        last = same or self.kept[-1]
        return self._sign * value > self._sign * last.value

    def facts(self, value: float) -> dict[str, Any]:
        """The facts for the manifest of a checkpoint that is kept for its value."""
        return {_BEST: {"metric": self.ranking.metric, "value": value}}

    def settle(self) -> None:
        """Points to the best checkpoint, and removes those that are not among the best any more."""
        found = self._ranked()
        self.kept, surplus = found[: self.ranking.keep], found[self.ranking.keep :]
        if not self.kept:
            return
        with stage.stage(self.directory) as aside:
            names = [os.path.basename(one.prefix) for one in reversed(self.kept)]
            pointer.write(self.directory, names, aside)
        others = [prefix for prefix, record in self._records() if not self._is_own(record)]
        for prefix in [*(one.prefix for one in surplus), *others]:
            try:
                remove(prefix)
            except OSError as error:
                TENSORFLOW.warning(
                    "Could not delete %s, which is not the best any more (%s); it stays.",
                    prefix,
                    error.strerror,
                )

    def say(self, prefix: str = "") -> None:
        """Logs which checkpoint is the best, with the start of the log line."""
        best = self.best
        if best is not None:
            metric = self.ranking.metric
            line = report.best_checkpoint(metric, best.value, best.step, self.directory)
            TENSORFLOW.info("%s", f"{prefix} {line}" if prefix else line[0].upper() + line[1:])

    def _known(self, whole: bool) -> list[Ranked]:
        """The whole checkpoints that earlier runs kept for this metric, the best first."""
        for prefix, record in self._records():
            if whole and self._is_own(record) and (why := verify.fault(prefix)):
                self._damaged.add((prefix, record.serial))
                TENSORFLOW.warning("%s is damaged, and is not used: %s.", prefix, why)
        found = self._ranked()
        others = [(p, record) for p, record in self._records() if not self._is_own(record)]
        if others and not found:
            prefix, record = others[0]
            TENSORFLOW.warning(
                "%s is the best by %s, and this run keeps the best by %s: the checkpoint of its"
                " first evaluation replaces it.",
                prefix,
                record.extra[_BEST].get("metric"),
                self.ranking.metric,
            )
        return found

    def _ranked(self) -> list[Ranked]:
        """The checkpoints that are there for this metric, the best first, then the earliest."""
        found = [
            Ranked(prefix, record.step, float(record.extra[_BEST]["value"]))
            for prefix, record in self._records()
            if self._is_own(record) and (prefix, record.serial) not in self._damaged
        ]
        return sorted(found, key=lambda one: (-self._sign * one.value, one.step))

    def _records(self) -> list[tuple[str, Manifest]]:
        """The checkpoints of the folder that are kept for the value of any metric."""
        found = manifest.manifests(self.directory)
        return [(p, r) for p, r in found if isinstance(r.extra.get(_BEST), dict)]

    def _is_own(self, record: Manifest) -> bool:
        return record.extra[_BEST].get("metric") == self.ranking.metric


class BestCheckpoint:
    """Saves the best values of a graph's variables; made before the graph is finalized.

    Args:
        log_dir: directory of the run.
        ranking: the metric, and how many checkpoints to keep.
    """

    def __init__(self, log_dir: str, ranking: Ranking) -> None:
        self.folder, self._metric = BestFolder(log_dir, ranking), Metric(ranking)
        self._saver = Saver(
            self.folder.directory,
            replicas.originals(tf.global_variables()),
            keep=None,
            objects=saveables.of_graph(),
        )
        self._global_step = tf.train.get_global_step()

    def offer(self, session: tf.Session, values: Mapping[str, Any]) -> bool:
        """Saves the current values of the variables if their metric is among the best.

        Args:
            session: session of the graph.
            values: the metrics by name, computed with the current values of the variables.

        Returns:
            Whether a checkpoint was saved.
        """
        value = self._metric.value_in(values)
        if value is None:
            return False
        step = int(session.run(self._global_step))
        if not self.folder.takes(value, step):
            return False
        self._saver.save(session, step, self.folder.facts(value))
        self.folder.settle()
        return True


def of_graph() -> BestCheckpoint | None:
    """The keeper of the best checkpoints of the current graph's run; None: it has none."""
    found = run_context.current().best
    return found if isinstance(found, BestCheckpoint) else None


def adopt(folder: BestFolder, prefix: str, value: float) -> bool:
    """Copies a committed checkpoint into the folder if its metric is among the best.

    Args:
        folder: the folder of the best checkpoints.
        prefix: the checkpoint, on the local disk.
        value: the metric of the checkpoint.

    Returns:
        Whether the checkpoint was copied.

    Raises:
        CheckpointError: the disk refuses the copy. The checkpoints in the folder are untouched.
    """
    step = step_of(prefix) or 0
    if not folder.takes(value, step):
        return False
    target = os.path.join(folder.directory, f"model.ckpt-{step}")
    with told_as(target), stage.stage(folder.directory) as aside:
        stage.sweep(folder.directory, aside)
        staged = os.path.join(aside, os.path.basename(target))
        for suffix in (*data_suffixes(prefix), INDEX, META):
            if suffix != META or os.path.exists(prefix + META):
                durable.link_or_copy(prefix + suffix, staged + suffix)
        known = manifest.manifests(folder.directory)
        record = Manifest(
            step,
            known[0][1].serial + 1 if known else 1,
            savers.settle(staged),
            tuple(sorted(reader.stored(staged).shapes)),
            folder.facts(value),
        )
        commit(staged, target, record)
    folder.settle()
    return True
