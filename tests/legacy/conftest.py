"""Cells and layers of `tf.nn` and `tf.layers` are tf_keras': it must be chosen before an import."""

from __future__ import annotations

import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
