"""Lets sessions of a program run what TensorFlow 1.x ran where the program was written.

Programs name `/gpu:0` because their authors had one, and Python 2 gave lists where Python 3 gives
views and iterators.
"""

from __future__ import annotations

import functools
from collections.abc import KeysView, ValuesView
from typing import Any

from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

from moxing.engine.graph import devices, fusing

_TO_NHWC = RewriterConfig.NCHW_TO_NHWC
_ONCE_LISTS = (KeysView, ValuesView, map, filter, zip)


def install() -> None:
    """From now on sessions take programs of GPUs where there is none, and fetch views.

    Operations are placed on the CPU, and those of the layout NCHW, which its kernels lack, are
    rewritten to NHWC as TensorFlow optimizes the graph.
    """
    import tensorflow.compat.v1 as tf
    from tensorflow.python.client import session

    start: Any = session.BaseSession.__init__
    if hasattr(start, "mox_placed"):
        return

    def __init__(self: Any, target: Any = "", graph: Any = None, config: Any = None) -> None:
        if isinstance(config, (tf.ConfigProto, type(None))) and not devices.has_gpu():
            placed = tf.ConfigProto()
            placed.graph_options.rewrite_options.cpu_layout_conversion = _TO_NHWC
            if config is not None:
                placed.MergeFrom(config)
            placed.allow_soft_placement = True
            if target:
                fusing.configure(placed, graph or tf.get_default_graph())
            config = placed
        start(self, target, graph, config)

    # Other changes to sessions are known by their marks.
    __init__.__dict__.update(vars(start))
    __init__.mox_placed = start  # type: ignore[attr-defined]
    session.BaseSession.__init__ = __init__
    _register_views()


@functools.cache
def _register_views() -> None:
    """Makes views fetches, once: TensorFlow refuses to register a type again."""
    from tensorflow.python.client import session

    for kind in _ONCE_LISTS:
        session.register_session_run_conversion_functions(kind, _fetch_all)


def _fetch_all(fetches: Any) -> tuple[list[Any], Any]:
    """The elements of a view or iterator, and a function that makes one list of their values."""
    return list(fetches), list
