"""Saves the variables of a graph: stages, verifies, syncs and commits, and updates the pointer."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint import durable, manifest, pointer, reader
from moxing.engine.checkpoint.entries import Entry, entries, flat
from moxing.engine.checkpoint.manifest import FileRecord, Manifest
from moxing.engine.checkpoint.names import INDEX, INPUT, MANIFEST, Checkpoint, data_suffixes
from moxing.engine.checkpoint.saving import stage
from moxing.engine.checkpoint.saving.commit import commit
from moxing.engine.checkpoint.saving.copies import Copies
from moxing.engine.checkpoint.saving.failures import told_as
from moxing.engine.checkpoint.saving.metagraph import MetaGraph
from moxing.engine.checkpoint.saving.retention import ForGood, clear_remains, retain
from moxing.engine.graph import saveables
from moxing.engine.wording import report
from moxing.errors import CheckpointError, MoxValueError
from moxing.logs import TENSORFLOW

_NAME = "model.ckpt"


class Saver:
    """Operations that save variables. Make it inside the graph, before the graph is finalized.

    A saver writes the files that `tf.train.Saver` writes, and a manifest such as
    `model.ckpt-50.manifest.json`. If the process is killed at any moment, `newest` still finds the
    last commit. Only one process at a time may save into a directory: see `lock`.

    Args:
        directory: an existing directory to save into.
        variables: variables of the current graph; they must have values when `save` is called.
        keep: how many of the newest checkpoints to keep; None: all. Only checkpoints with a
            manifest are counted and deleted.
        objects: saveable objects of the current graph, such as tables, to save with the variables.
        hours: a checkpoint every so many hours stays for good, beside the newest; None: none does.

    Raises:
        MoxValueError: `keep` is below 1.
    """

    def __init__(
        self,
        directory: str | Path,
        variables: Iterable[Any],
        keep: int | None = 5,
        objects: Sequence[Any] = (),
        hours: float | None = None,
    ) -> None:
        if keep is not None and keep < 1:
            raise MoxValueError(
                f"keep={keep}: at least one checkpoint must be kept; None keeps all of them."
            )
        self._directory = os.fspath(directory)
        self._keep, self._for_good = keep, ForGood(hours)
        listed = flat(variables)
        self._entries = entries(listed)
        self._states = saveables.names(objects)
        # Only the operations of tf.train.Saver are used: its save() neither syncs nor commits.
        self._saver = tf.train.Saver([*listed, *objects])
        definition = self._saver.saver_def
        self._fetch, self._feed = definition.save_tensor_name, definition.filename_tensor_name
        self._copies = Copies(self._saver)
        self._meta = MetaGraph(self._saver, tf.get_default_graph())
        self._kept: list[str] | None = None
        self._serial = 0
        self._done: dict[int, Mapping[str, Any]] = {}

    def save(
        self,
        session: tf.Session,
        step: int,
        extra: Mapping[str, Any] | None = None,
        input_state: Callable[[], bytes | None] = lambda: None,
    ) -> Checkpoint:
        """Commits the current values of the variables, and returns when they are on the disk.

        A step that this run has already committed, with the same `extra`, is not saved again.

        Args:
            session: session of the graph.
            step: global step of the values.
            extra: values that `read_extra` gives back when a run resumes; JSON types only.
            input_state: returns the state of the input that `read_input` gives back later; called
                while the step is saved.

        Raises:
            CheckpointError: the files can't be written, for example because the disk is full.
                Earlier checkpoints are untouched.
            TypeError: `extra` holds a value that JSON can't represent.
        """
        target, facts = Checkpoint(f"{self._path}-{step}", step), dict(extra or {})
        if self._is_done(target, facts):
            return target
        TENSORFLOW.info("%s", report.saving_checkpoint(step, self._path))
        return self._save(
            target,
            facts,
            lambda staged: session.run(self._fetch, {self._feed: staged}),
            input_state,
        )

    def copy(
        self,
        session: tf.Session,
        step: int,
        extra: Mapping[str, Any],
        input_state: Callable[[], bytes | None] = lambda: None,
        check: Callable[[Iterable[tuple[str, np.ndarray]]], None] = lambda copies: None,
    ) -> Callable[[], Checkpoint] | None:
        """Copies the current values, and leaves it to the caller to commit them.

        Args:
            session: session of the graph.
            step: global step of the values.
            extra: as in `save`.
            input_state: as in `save`.
            check: called with the names and the values before the copies are written; an error of
                it is raised, and nothing is written.

        Returns:
            A function that commits the copies as `save` does, in any thread; call it before
            anything else of this saver. None: the values are few, or can't be copied; `save` them.
        """
        target, facts = Checkpoint(f"{self._path}-{step}", step), dict(extra)
        if not self._copies.wanted or self._is_done(target, facts):
            return None
        TENSORFLOW.info("%s", report.saving_checkpoint(step, self._path))
        self._copies.take(session)
        state = input_state()

        def write(staged: str) -> None:
            check(self._copies.arrays())
            self._copies.write(staged)

        return lambda: self._save(target, facts, write, lambda: state)

    @property
    def _path(self) -> str:
        return os.path.join(self._directory, _NAME)

    def _is_done(self, target: Checkpoint, facts: Mapping[str, Any]) -> bool:
        done = target.step is not None and self._done.get(target.step) == facts
        return done and os.path.exists(target.prefix + MANIFEST)

    def _save(
        self,
        target: Checkpoint,
        facts: dict[str, Any],
        write: Callable[[str], Any],
        input_state: Callable[[], bytes | None],
    ) -> Checkpoint:
        """Commits the files that `write` makes under the prefix that is its argument."""
        prefix, step = target.prefix, target.step
        assert step is not None
        try:
            with told_as(prefix), stage.stage(self._directory) as aside:
                self._commit(write, prefix, step, facts, input_state, aside)
                self._point(prefix, aside)
        except BaseException:
            self._kept = None  # The next save looks up what the directory holds.
            raise
        self._done[step] = facts
        return target

    def _commit(
        self,
        write: Callable[[str], Any],
        prefix: str,
        step: int,
        extra: Mapping[str, Any],
        input_state: Callable[[], bytes | None],
        aside: str,
    ) -> None:
        self._take_stock(aside)
        staged = os.path.join(aside, os.path.basename(prefix))
        self._serial += 1
        facts = self._for_good.facts(prefix)
        record = Manifest(step, self._serial, {}, self._names(), {**extra, **facts})
        manifest.encode(record)  # Fails on a bad `extra` before anything is written.
        write(staged)
        if (state := input_state()) is not None:
            with open(staged + INPUT, "wb") as file:
                file.write(state)
        _verify(staged, prefix, self._entries, self._states)
        self._meta.put(staged, prefix)
        commit(staged, prefix, dataclasses.replace(record, files=settle(staged)))
        self._for_good.take(prefix, facts)

    def _point(self, prefix: str, aside: str) -> None:
        """Updates the pointer file for TensorFlow's tools, then deletes surplus checkpoints."""
        kept = [other for other in self._kept or () if other != prefix] + [prefix]
        surplus = len(kept) - self._keep if self._keep is not None else 0
        names = [os.path.basename(other) for other in kept[max(surplus, 0) :]]
        pointer.write(self._directory, names, aside)
        self._kept = retain(kept, self._keep, self._for_good.prefixes)

    def _take_stock(self, aside: str) -> None:
        if self._kept is None:
            stage.sweep(self._directory, aside)
            clear_remains(self._directory)
            found = manifest.manifests(self._directory)
            self._serial = found[0][1].serial if found else 0
            self._kept = [prefix for prefix, _ in reversed(found)]
            self._for_good.find(found)

    def _names(self) -> tuple[str, ...]:
        return tuple(sorted({entry.name for entry in self._entries} | self._states))


def _verify(staged: str, prefix: str, expected: Iterable[Entry], states: Iterable[str]) -> None:
    """Opens the staged files as TensorFlow's tools will, and compares names, shapes and size."""
    shapes = reader.stored(staged).shapes
    wanted = {entry.name: entry for entry in expected}
    wrong = [
        name
        for name, entry in wanted.items()
        if name not in shapes or (entry.shape is not None and tuple(shapes[name]) != entry.shape)
    ]
    wrong += [name for name in states if name not in shapes]
    least = sum(
        entry.dtype.size * math.prod(shapes.get(name, ()))
        for name, entry in wanted.items()
        if entry.dtype != tf.string
    )
    written = sum(os.path.getsize(staged + suffix) for suffix in data_suffixes(staged))
    count = len({*wanted, *states})
    if wrong or len(shapes) != count or written < least:
        raise CheckpointError(
            f"Checkpoint {prefix} was written but does not read back:"
            f" {len(shapes)} variables of {count}, {written} bytes of at least {least},"
            f" wrong: {wrong[:10]}. It was not committed. The disk may be failing."
        )


def settle(staged: str) -> dict[str, FileRecord]:
    """Syncs the staged files, and computes their digests while the disk is busy syncing."""
    suffixes = [*data_suffixes(staged), INDEX]
    if os.path.exists(staged + INPUT):
        suffixes.append(INPUT)
    with ThreadPoolExecutor(max_workers=1) as thread:
        synced = thread.submit(durable.sync, [staged + suffix for suffix in suffixes])
        records = {
            suffix: FileRecord(os.path.getsize(staged + suffix), durable.digest(staged + suffix))
            for suffix in suffixes
        }
        synced.result()
    return records


def save_arrays(arrays: Mapping[str, np.ndarray], prefix: str) -> None:
    """Writes arrays under their names, in the files that `tf.train.Saver` writes; commits nothing.

    Args:
        arrays: numbers of any type, or text.
        prefix: prefix of the files.
    """
    with tf.Graph().as_default(), tf.Session() as session:
        holders = [tf.placeholder(_dtype(array), array.shape) for array in arrays.values()]
        saved = tf.raw_ops.SaveV2(
            prefix=prefix,
            tensor_names=list(arrays),
            shape_and_slices=[""] * len(arrays),
            tensors=holders,
        )
        session.run(saved, dict(zip(holders, arrays.values(), strict=True)))


def _dtype(array: np.ndarray) -> tf.DType:
    return tf.string if array.dtype.kind in "OSU" else tf.as_dtype(array.dtype)
