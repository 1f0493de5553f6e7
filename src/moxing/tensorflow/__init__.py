"""The MoXing dialect: `import moxing.tensorflow as mox`."""

from __future__ import annotations

from typing import Any

from moxing import tf_version

tf_version.check()

import os  # noqa: E402
import warnings  # noqa: E402

from moxing import native_noise  # noqa: E402

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
with native_noise.dropped():
    import tensorflow  # noqa: F401

from moxing import flags as _flags  # noqa: E402
from moxing import logs  # noqa: E402
from moxing.engine.graph import graph_keras  # noqa: E402
from moxing.flags import get_flag, set_flag  # noqa: E402
from moxing.tensorflow import names as _names  # noqa: E402
from moxing.tensorflow.executor.evaluation_hooks import (  # noqa: E402
    EarlyStoppingHook,
    LogEvaluationMetricHook,
)
from moxing.tensorflow.executor.graph_tools import get_collection, var_scope  # noqa: E402
from moxing.tensorflow.executor.hooks import (  # noqa: E402
    AggregativeSessionRunHook,
    FeedSessionRunHook,
)
from moxing.tensorflow.executor.keys import ExportKeys, ModeKeys  # noqa: E402
from moxing.tensorflow.executor.plateau_hook import PlateauLREarlyStoppingHook  # noqa: E402
from moxing.tensorflow.executor.run import run  # noqa: E402
from moxing.tensorflow.executor.spec import ExportSpec, ModelSpec  # noqa: E402
from moxing.tensorflow.optimizer import get_optimizer_fn  # noqa: E402

graph_keras.show_in_v1()
# Under `mox run`, this call drops the program's earlier logging setup, as its writers expect.
logs.use()
# Programs for TensorFlow 1.x use tf.layers and can't act on these warnings.
warnings.filterwarnings("ignore", r"`tf\.layers\..*` is deprecated", UserWarning)
warnings.filterwarnings("ignore", r"`layer\..*` is deprecated and will be removed", UserWarning)
_flags.register()

__all__ = [
    "AggregativeSessionRunHook",
    "EarlyStoppingHook",
    "ExportKeys",
    "ExportSpec",
    "FeedSessionRunHook",
    "LogEvaluationMetricHook",
    "ModeKeys",
    "ModelSpec",
    "PlateauLREarlyStoppingHook",
    "get_collection",
    "get_flag",
    "get_optimizer_fn",
    "run",
    "set_flag",
    "var_scope",
]
__all__ += list(_names.LAZY)


def __getattr__(name: str) -> Any:
    value = _names.load(name, __all__)
    globals()[name] = value
    return value
