"""Carries lookup tables, as of StringLookup and TextVectorization, from Keras into a v1 graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

_FIND = "LookupTableFindV2"
_READS = (_FIND, "LookupTableSizeV2")


@dataclass(frozen=True)
class Table:
    """The content of a lookup table that a traced function only reads.

    Attributes:
        keys, values: arrays of as many entries.
        dtypes: the dtypes of keys and values.
    """

    keys: Any
    values: Any
    dtypes: tuple[tf.DType, tf.DType]

    def make(self) -> tf.Tensor:
        """Returns the handle of a table of this content in the current graph, on the host."""
        with tf.device("CPU:0"):
            content = tf.lookup.KeyValueTensorInitializer(self.keys, self.values, *self.dtypes)
            # Reads bring a default value of their own.
            default = tf.zeros([], self.dtypes[1]) if self.dtypes[1] != tf.string else ""
            return tf.lookup.StaticHashTable(content, default).resource_handle


def content(placeholder: tf.Tensor, captured: Any) -> Table | None:
    """Returns the content of a captured table; None: it is no table, or is not only read.

    Args:
        placeholder: stands for the table in the traced function.
        captured: the table's handle in the eager runtime.
    """
    uses = placeholder.consumers()
    finds = [op for op in uses if op.type == _FIND]
    if not finds or any(op.type not in _READS for op in uses):
        return None
    dtypes = finds[0].get_attr("Tin"), finds[0].get_attr("Tout")
    keys, values = tf.raw_ops.LookupTableExportV2(
        table_handle=captured, Tkeys=dtypes[0], Tvalues=dtypes[1]
    )
    return Table(keys.numpy(), values.numpy(), dtypes)
