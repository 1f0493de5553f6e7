"""`TPUClusterResolver`, which programs that may use a TPU create in any case."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError

_HERE = (None, "", "local")
_UNSET = object()


class TPUClusterResolver(tf.distribute.cluster_resolver.ClusterResolver):
    """The address of no TPU: of this process itself.

    Args:
        tpu: must be None, "" or "local", as programs pass it that are to run without a TPU: the
            value of a flag that is not given.
        *arguments, **keywords: where a TPU would be found (zone, project and the like); not used.

    Raises:
        MoxNotSupportedError: `tpu` is left out, which looks for a TPU, or names a TPU, and there
            are none here.
    """

    def __init__(self, tpu: Any = _UNSET, *arguments: Any, **keywords: Any) -> None:
        del arguments, keywords
        if tpu not in _HERE:
            raise MoxNotSupportedError(
                "TPUClusterResolver looks for a TPU, and there are none here. Start the program"
                " without one, with use_tpu=False (for most: leave --use_tpu and --tpu_name out)."
            )
        self.task_type: str | None = None
        self.task_id: int | None = None
        self.rpc_layer = ""

    def master(self, *arguments: Any, **keywords: Any) -> str:
        """Returns the address of this process's own session: the empty text."""
        del arguments, keywords
        return ""

    get_master = master

    def cluster_spec(self) -> tf.train.ClusterSpec:
        """Returns a cluster of no processes."""
        return tf.train.ClusterSpec({})

    def get_job_name(self) -> None:
        """Returns None: there is no job of TPU hosts."""
        return
