"""`tf.contrib.tfprof`: its functions and options, on `tf.profiler`, which took its place in 1.3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.profiler import tfprof_logger

_ALL: dict[str, Any] = {
    "max_depth": 10000,
    "min_bytes": 0,
    "min_micros": 0,
    "min_params": 0,
    "min_float_ops": 0,
    "device_regexes": [".*"],
    "order_by": "name",
    "account_type_regexes": [".*"],
    "start_name_regexes": [".*"],
    "trim_name_regexes": [],
    "show_name_regexes": [".*"],
    "hide_name_regexes": [],
    "account_displayed_op_only": True,
    "select": ["params"],
    "output": "stdout",
    "dump_to_file": "",
}
TRAINABLE_VARS_PARAMS_STAT_OPTIONS = _ALL | {"account_type_regexes": ["_trainable_variables"]}
FLOAT_OPS_OPTIONS = _ALL | {"min_float_ops": 1, "order_by": "float_ops", "select": ["float_ops"]}
PRINT_ALL_TIMING_MEMORY = _ALL | {
    "min_bytes": 1,
    "min_micros": 1,
    "account_displayed_op_only": False,
    "select": ["micros", "bytes"],
}

Profiler = tf.profiler.Profiler
advise = tf.profiler.advise
write_op_log = tf.profiler.write_op_log


def print_model_analysis(
    graph: Any,
    run_meta: Any = None,
    op_log: Any = None,
    tfprof_cmd: str = "scope",
    tfprof_options: Mapping[str, Any] = TRAINABLE_VARS_PARAMS_STAT_OPTIONS,
) -> Any:
    """Prints the statistics of a graph, and returns them.

    Args:
        graph: the graph.
        run_meta: the RunMetadata of a step that was traced, for times and memory.
        op_log: an OpLogProto with more types and counts of operations.
        tfprof_cmd: "scope", "graph", "op" or "code".
        tfprof_options: a dict of options, or one of the constants of this module.

    Returns:
        A GraphNodeProto, or a MultiGraphNodeProto for "op" and "code"; its `total_parameters`,
        `total_float_ops` and their kin have the sums.
    """
    return tf.profiler.profile(graph, run_meta, op_log, tfprof_cmd, tfprof_options)


def _get_logged_ops(graph: Any, run_meta: Any = None) -> dict[str, Any]:
    """Returns the types and counts of a graph's operations, by name; programs import it."""
    return tfprof_logger._get_logged_ops(graph, run_meta, add_trace=False)[0]
