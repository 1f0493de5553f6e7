"""Exports a checkpoint of an Estimator as a SavedModel."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v1 as tf

from moxing import flags
from moxing.engine.export import averages_saver
from moxing.engine.remote.at_hand import at_hand
from moxing.errors import MoxTypeError, shown
from moxing.estimator.described import Described
from moxing.estimator.serving import publishing, serving_graph, signatures
from moxing.logs import TENSORFLOW


def export(
    estimator: Described,
    base: str,
    receiver_fn: Any,
    checkpoint_path: str,
    assets: Mapping[str, str],
    as_text: bool,
) -> bytes:
    """Exports to a new directory in `base`, named by the time, and returns its path as bytes."""
    if not callable(receiver_fn):
        raise MoxTypeError(
            f"export_saved_model has serving_input_receiver_fn={shown(receiver_fn)}, which is no"
            " function."
        )
    publishing.check(base, assets)
    with (
        at_hand(checkpoint_path) as source,
        tempfile.TemporaryDirectory(prefix="moxing-export-") as room,
    ):
        made = os.path.join(room, "model")
        with _without_lines_about(room):
            _write(estimator, receiver_fn, source.prefix, made, as_text)
        publishing.add_assets(made, assets)
        target = publishing.publish(made, base)
    TENSORFLOW.info("SavedModel written to: %s", target)
    return target.encode()


@contextmanager
def _without_lines_about(path: str) -> Iterator[None]:
    """In the block, drops TensorFlow's log lines about `path`, a temporary directory."""

    def keep(record: logging.LogRecord) -> bool:
        return path not in record.getMessage()

    TENSORFLOW.addFilter(keep)
    try:
        yield
    finally:
        TENSORFLOW.removeFilter(keep)


def _write(
    estimator: Described, receiver_fn: Any, source: str, directory: str, as_text: bool
) -> None:
    with tf.Graph().as_default() as graph:
        served = serving_graph.build(estimator, receiver_fn)
        made = signatures.of_model(served.receiver, served.spec)
        saver, initialize = served.saver(), served.initializer()
        averages = averages_saver(source) if flags.get_flag("use_ema") else None
        builder = tf.saved_model.Builder(directory)
        config = tf.ConfigProto(allow_soft_placement=True, device_count={"GPU": 0})
        with tf.Session(graph=graph, config=config) as session:
            saver.restore(session, source)
            if averages is not None:
                averages.restore(session, source)
            builder.add_meta_graph_and_variables(
                session,
                [tf.saved_model.SERVING],
                signature_def_map=made,
                assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS) or None,
                clear_devices=True,
                main_op=initialize,
                strip_default_attrs=True,
                saver=saver if served.own_saver is None else None,
            )
        builder.save(as_text)
