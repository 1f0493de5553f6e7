"""Writes a SavedModel next to its destination and moves it there in one step."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf
from google.protobuf.message import Message
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from moxing.engine.export import averaged, reload
from moxing.engine.export.check import check_assets
from moxing.engine.export.convert import FILES, convert
from moxing.engine.export.frozen import GRAPH, write_frozen
from moxing.engine.export.kinds import FROZEN_GRAPH
from moxing.engine.export.target import refuse_existing
from moxing.engine.export.variables import check_shapes, check_variables, variable_key
from moxing.engine.job.signature import ExportSignature, signature_def
from moxing.errors import MoxRuntimeError
from moxing.framework import owners
from moxing.logs import TENSORFLOW

_FILE = "saved_model.pb"
UNFINISHED = ".unfinished-"  # The prefix of the names of directories of unfinished exports.
# Seconds after which an unfinished export of another machine counts as that of a dead process.
STALE_SECONDS = 24 * 3600.0
SIGNATURE_KEYS = ("serving_default", "predict_object")


@dataclass(frozen=True)
class Extras:
    """The parts of an export beside the SavedModel of the trained values.

    Attributes:
        kinds: which other kinds of model to write; constants of `kinds`.
        assets: paths of files to copy into the model's folder `assets`.
        averaged: whether variables get their moving averages where the checkpoint has them.
    """

    kinds: Collection[str] = ()
    assets: Collection[str] = ()
    averaged: bool = False


_NONE = Extras()


def write(
    graph: tf.Graph,
    signature: ExportSignature,
    checkpoint_prefix: str,
    directory: str,
    extras: Extras = _NONE,
) -> str:
    """Exports the model with the values of a checkpoint.

    The SavedModel has the tag `serve`, the signature under `serving_default` and `predict_object`,
    no devices, and an operation that initializes tables and local variables at loading. It is
    loaded again and compared with the checkpoint before it is moved to `directory` in one step.

    Args:
        graph: the graph that the model function built in EXPORT mode. It must not be finalized:
            operations that save and restore are added to it.
        signature: inputs and outputs, which `check` has accepted.
        checkpoint_prefix: checkpoint to take the variables from, by name.
        directory: destination, which must not exist; its parent is made if needed.
        extras: other files to write, and the choice between variables and their averages.

    Returns:
        `directory`.

    Raises:
        ExportExistsError: `directory` exists.
        MoxValueError: the checkpoint lacks a variable that the outputs need, or has it with another
            shape.
        MoxRuntimeError: the written model and the checkpoint compute different outputs; or a
            converter failed, in which case the SavedModel is written all the same.
        OSError: the files can't be written.
    """
    refuse_existing(directory)
    temporary = _make_temporary(directory)
    try:
        with graph.as_default(), _without_lines_about(temporary):
            _build(graph, signature, checkpoint_prefix, temporary, extras)
        failed = {kind: convert(kind, temporary) for kind in FILES if kind in extras.kinds}
        _sync_tree(temporary)
        refuse_existing(directory)  # A rename would replace an empty directory.
        os.rename(temporary, directory)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    _sync(os.path.dirname(os.path.abspath(directory)))
    _log_written(directory)
    for kind, reason in failed.items():
        if reason is not None:
            raise MoxRuntimeError(
                f"The model could not be converted to {kind}: {reason}. Its SavedModel is in"
                f" {directory}."
            )
    return directory


def _build(
    graph: tf.Graph,
    signature: ExportSignature,
    checkpoint_prefix: str,
    directory: str,
    extras: Extras,
) -> None:
    _add_assets(graph, extras.assets)
    check_assets(graph)
    description = signature_def(signature)
    assets = graph.get_collection(tf.GraphKeys.ASSET_FILEPATHS)
    with tf.name_scope(None), tf.control_dependencies(None):
        with_averages = averaged.saver(checkpoint_prefix) if extras.averaged else None
        saver = tf.train.Saver(_held(graph, signature, checkpoint_prefix), allow_empty=True)
        initialize = tf.group(
            tf.local_variables_initializer(), tf.tables_initializer(), name="init_at_load"
        )
    # The export needs no speed, and the training session may have taken all GPU memory.
    config = tf.ConfigProto(allow_soft_placement=True, device_count={"GPU": 0})
    builder = tf.saved_model.Builder(directory)
    with tf.Session(graph=graph, config=config) as session:
        saver.restore(session, checkpoint_prefix)
        if with_averages is not None:
            with_averages.restore(session, checkpoint_prefix)
        builder.add_meta_graph_and_variables(
            session,
            [tf.saved_model.SERVING],
            signature_def_map=dict.fromkeys(SIGNATURE_KEYS, description),
            assets_collection=assets or None,
            clear_devices=True,
            main_op=initialize,
            strip_default_attrs=True,
            saver=saver,
        )
        builder.save()
        _strip_devices(os.path.join(directory, _FILE))
        if FROZEN_GRAPH in extras.kinds:
            write_frozen(session, signature, directory)
        session.run(initialize)
        reload.check(session, signature, directory)


def _add_assets(graph: tf.Graph, files: Iterable[str]) -> None:
    values = [tf.get_static_value(t) for t in graph.get_collection(tf.GraphKeys.ASSET_FILEPATHS)]
    known = {value.item() for value in values if value is not None}
    with tf.name_scope(None), tf.control_dependencies(None):
        for path in files:
            if os.fsencode(path) not in known:
                asset = tf.constant(path, tf.string, name="asset_file")
                tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, asset)


def _held(graph: tf.Graph, signature: ExportSignature, checkpoint_prefix: str) -> list[Any]:
    """The variables of the graph that the checkpoint has, and the graph's saveable objects."""
    where = f"the checkpoint {checkpoint_prefix}"
    shapes = tf.train.load_checkpoint(checkpoint_prefix).get_variable_to_shape_map()
    check_variables(signature, shapes.keys(), where)
    check_shapes(graph, shapes, where)
    held = [v for v in tf.global_variables() if variable_key(v) in shapes]
    return held + graph.get_collection(tf.GraphKeys.SAVEABLE_OBJECTS)


def _strip_devices(path: str) -> None:
    """Clears the device names that TensorFlow leaves in the bodies of branches and loops."""
    model = SavedModel()
    with open(path, "rb") as file:
        model.ParseFromString(file.read())
    functions = [f for graph in model.meta_graphs for f in graph.graph_def.library.function]
    placed = [node for function in functions for node in function.node_def if node.device]
    for node in placed:
        node.device = ""
    if placed:
        _replace(path, model)


def _replace(path: str, message: Message) -> None:
    with open(path, "wb") as file:
        file.write(message.SerializeToString(deterministic=True))


def _make_temporary(directory: str) -> str:
    """Makes an empty directory beside the destination, with the default permissions.

    Unfinished directories of killed processes are removed.
    """
    parent = os.path.dirname(os.path.abspath(directory))
    os.makedirs(parent, exist_ok=True)
    owners.sweep(parent, UNFINISHED, stale_seconds=STALE_SECONDS)
    return owners.make_folder(parent, UNFINISHED)


@contextlib.contextmanager
def _without_lines_about(path: str) -> Iterator[None]:
    """Keeps TensorFlow from logging a path that is about to change."""

    name = os.path.basename(path)  # Messages may show the directory by another path.

    def keep(record: logging.LogRecord) -> bool:
        return name not in record.getMessage()

    TENSORFLOW.addFilter(keep)
    try:
        yield
    finally:
        TENSORFLOW.removeFilter(keep)


def _sync_tree(directory: str) -> None:
    for folder, _, files in os.walk(directory, topdown=False):
        for name in files:
            _sync(os.path.join(folder, name))
        _sync(folder)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _log_written(directory: str) -> None:
    assets = os.path.join(directory, "assets")
    if os.path.isdir(assets):
        TENSORFLOW.info("Assets written to: %s", assets)
    for name in (*FILES.values(), GRAPH):
        if os.path.isfile(os.path.join(directory, name)):
            TENSORFLOW.info("Converted model written to: %s", os.path.join(directory, name))
    TENSORFLOW.info("SavedModel written to: %s", os.path.join(directory, _FILE))
