"""The Keras dialect: `moxing.keras.fit` trains Keras models on several devices and machines."""

from __future__ import annotations

from moxing import tf_version

tf_version.check()

import os  # noqa: E402

from moxing import native_noise  # noqa: E402

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
with native_noise.dropped():
    import tensorflow  # noqa: F401

from moxing.keras.inference.evaluate import evaluate as evaluate  # noqa: E402
from moxing.keras.inference.predict import predict as predict  # noqa: E402
from moxing.keras.place import is_chief as is_chief  # noqa: E402
from moxing.keras.restored import restore as restore  # noqa: E402
from moxing.keras.result import FitResult as FitResult  # noqa: E402
from moxing.keras.training import fit as fit  # noqa: E402

__all__ = ["FitResult", "evaluate", "fit", "is_chief", "predict", "restore"]
