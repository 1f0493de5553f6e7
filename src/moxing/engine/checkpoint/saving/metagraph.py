"""The `.meta` file of a checkpoint, by which old tools rebuild the graph."""

from __future__ import annotations

import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint import durable
from moxing.engine.checkpoint.names import META
from moxing.logs import TENSORFLOW

LARGEST = 64 << 20  # Bytes; a larger graph holds data, which does not belong in a checkpoint.


class MetaGraph:
    """Writes the final graph once in a run, and links that file at each later save.

    Exporting a graph takes longer than saving a small model, so the export is not repeated.
    """

    def __init__(self, saver: tf.train.Saver, graph: tf.Graph) -> None:
        self._saver = saver
        self._graph = graph
        self._given_up = False
        self._written: str | None = None

    def put(self, staged: str, final: str) -> None:
        """Puts the `.meta` file beside the staged checkpoint that is to become `final`.

        Raises:
            OSError: the file can't be written.
        """
        if self._given_up:
            return
        if self._written is not None and self._link(staged):
            self._written = final
            return
        content = self._content()
        if content is None:
            self._given_up = True
            return
        durable.write(staged + META, content)
        self._written = final

    def _link(self, staged: str) -> bool:
        """Links the last `.meta` file; False if it is gone, as after a clean-up by hand."""
        try:
            durable.link_or_copy(f"{self._written}{META}", staged + META)
        except FileNotFoundError:
            return False
        return True

    def _content(self) -> bytes | None:
        try:
            with self._graph.as_default():
                graph = self._saver.export_meta_graph(
                    collection_list=[
                        tf.GraphKeys.GLOBAL_VARIABLES,
                        tf.GraphKeys.TRAINABLE_VARIABLES,
                    ],
                    strip_default_attrs=True,
                )
            content = graph.SerializeToString()
        # A graph over 2 GB can't be serialized, and protobuf has no exception class for that.
        except Exception as error:
            TENSORFLOW.debug("No %s file is written: %s", META, error)
            return None
        if len(content) > LARGEST:
            size = len(content) >> 20
            TENSORFLOW.debug("No %s file is written: the graph has %d MB.", META, size)
            return None
        return content
