"""Variables of recurrent layers under their names of TensorFlow 1.x: `lstm/kernel`.

tf_keras puts the name of the layer's cell between: `lstm/lstm_cell/kernel`. A checkpoint that a
program's `tf.train.Saver` wrote with TensorFlow 1.x has its names alone. Graphs of runs, which have
resource variables, keep the names of tf_keras, and with them their earlier checkpoints.
"""

from __future__ import annotations

import contextlib
from typing import Any


def install() -> None:
    """From now on, layers build their cells in their own scope, in a program's own graphs."""
    from tf_keras.src.layers.rnn import base_rnn, stacked_rnn_cells

    for module in (base_rnn, stacked_rnn_cells):
        # These modules enter no scope but that of a cell.
        if not isinstance(module.backend, _Backend):
            module.backend = _Backend(module.backend)


def uninstall() -> None:
    """Undoes `install`."""
    from tf_keras.src.layers.rnn import base_rnn, stacked_rnn_cells

    for module in (base_rnn, stacked_rnn_cells):
        if isinstance(module.backend, _Backend):
            module.backend = module.backend.original


class _Backend:
    """Keras' backend, whose scopes change no name where variables are references."""

    def __init__(self, original: Any) -> None:
        """Args: original: the module `tf_keras.src.backend`."""
        self.original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)

    def name_scope(self, name: str) -> Any:
        """Returns the scope of a cell's variables, or a block that opens none."""
        import tensorflow.compat.v1 as tf

        if tf.executing_eagerly() or tf.resource_variables_enabled():
            return self.original.name_scope(name)
        return contextlib.nullcontext()
