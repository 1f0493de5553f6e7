"""Gives the shuffles of a program that have no seed an order that a resumed run draws again."""

from __future__ import annotations

import random

import tensorflow.compat.v1 as tf

from moxing.engine.data.pipelines import PLACE

_SHUFFLES = ("ShuffleDataset", "ShuffleAndRepeatDataset", "RandomDataset")


def fix(order: int, shard: int) -> None:
    """Sets the seeds of such datasets of the current graph.

    Datasets inside functions, such as those of `flat_map`, are left alone.

    Args:
        order: the number from which a run, and the runs that resume it, draw their order.
        shard: index of this process, so that processes read in different orders.
    """
    draw = random.Random(f"{order} {shard}")
    for op in tf.get_default_graph().get_operations():
        if op.type not in _SHUFFLES:
            continue
        places = [
            place
            for place, argument in enumerate(op.op_def.input_arg)
            if argument.name in ("seed", "seed2")
        ]
        if all(tf.get_static_value(op.inputs[place]) == 0 for place in places):
            for place in places:
                value = draw.randrange(1, 1 << 62)
                with tf.name_scope(None), tf.device("/cpu:0"):
                    seed = tf.constant(value, tf.int64, name=f"{PLACE}_seed")
                op._update_input(place, seed)
