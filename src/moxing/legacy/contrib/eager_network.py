"""`tf.contrib.eager.Network`, the model class of TensorFlow 1.5 to 1.8."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf


class Network(tf.keras.Model):
    """A model whose layers are tracked by `track_layer`."""

    def track_layer(self, layer: Any) -> Any:
        """Adds a layer to the model, unless an attribute already does, and returns it."""
        tracked = self.__dict__.setdefault("_network_layers", [])
        if not any(known is layer for known in tracked):
            # A list that is assigned to an attribute tracks its layers.
            self._network_layers = [*tracked, layer]
        return layer
