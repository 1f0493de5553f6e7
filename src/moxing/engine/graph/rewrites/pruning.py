"""Removes control dependencies of gradients on gradients that nothing uses.

TensorFlow makes the gradients of one operation wait for each other. So it would compute, for
example, the gradient of the first convolution with respect to the images, although nothing uses
this gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import ancestry


@contextmanager
def watched() -> Iterator[list[Any]]:
    """Frees used gradients from waiting for unused gradients.

    Yields a list, into which the caller puts the gradients that it uses.

    Only operations made in the block are changed; the program's own control dependencies stay.
    """
    graph = tf.get_default_graph()
    before = len(graph.get_operations())
    gradients: list[Any] = []
    yield gradients
    made = graph.get_operations()[before:]
    _free([op for op in made if op.type == "NoOp" and "/tuple/group_deps" in op.name], gradients)


def _free(groups: Sequence[tf.Operation], gradients: Sequence[Any]) -> None:
    parts = tf.nest.flatten([one for one in gradients if one is not None], expand_composites=True)
    names = {op.name for op in groups}
    behind = ancestry.behind(parts, passes=lambda op: op.name not in names)
    used = {op.name for op in behind}
    for group in groups:
        kept = [op for op in group.control_inputs if op.name in used]
        if 0 < len(kept) < len(group.control_inputs):
            group._remove_all_control_inputs()
            group._add_control_inputs(kept)
