"""A program for the tests of clusters: trains a model by `moxing.keras.fit` and keeps its values.

    python program.py PLAN

PLAN is JSON: {"package", "between" (layers), "form" (of the data), "fit" (arguments), "save" (a
folder, for the values of each process), "pause" (seconds in the data of a batch)}.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import models
import numpy as np
import tensorflow as tf

import moxing.keras


def data(plan: dict[str, Any]) -> Any:
    """The training data in the form that is asked for."""
    pairs = (models.X, models.Y)
    if plan["form"] == "arrays":
        return pairs
    dataset = tf.data.Dataset.from_tensor_slices(pairs)
    if plan["form"] == "samples":
        return dataset
    if plan["form"] == "slow":

        def slowly(x: Any, y: Any) -> Any:
            time.sleep(plan["pause"])
            return x, y

        batches = dataset.batch(models.BATCH)

        def slow(x: Any, y: Any) -> Any:
            x, y = tf.numpy_function(slowly, [x, y], [tf.float32, tf.int64])
            return tf.ensure_shape(x, [None, 8]), tf.ensure_shape(y, [None])

        return batches.map(slow)

    def own(context: Any) -> Any:
        """Every batch's share of this process."""
        size = models.BATCH // context.num_input_pipelines
        shares = dataset.take(128).batch(size)
        return shares.shard(context.num_input_pipelines, context.input_pipeline_id)

    return own


def main() -> None:
    plan = json.loads(sys.argv[1])
    task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {"type": "one", "index": 0})
    model = models.dense(plan["package"], "adam", *plan.get("between", ()))
    if task["type"] == "worker" and task["index"] == 0:
        # Who is not the chief has other values at the start, which it must not keep.
        model.set_weights([value + 1 for value in model.get_weights()])
    result = moxing.keras.fit(
        model, data(plan), (models.X, models.Y), start_timeout=200.0, **plan["fit"]
    )
    name = f"{task['type']}{task['index']}"
    folder = Path(plan["save"])
    folder.mkdir(exist_ok=True)
    np.savez(folder / name, *models.values(model))
    told = {"history": result.history, "chief": moxing.keras.is_chief()}
    (folder / f"{name}.json").write_text(json.dumps(told))


main()
