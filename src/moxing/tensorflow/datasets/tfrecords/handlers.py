"""Makes items from parsed features with handlers like those of slim's tfexample_decoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, near_matches
from moxing.tensorflow.datasets.decoding import decode


def item_builder(
    keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, Any]
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Returns a function from parsed features to items.

    Args:
        keys_to_features: the features that are parsed.
        items_to_handlers: for each item, an object with `keys`, the names of its features, and
            `tensors_to_item`, a function from a dict of these features to the item's tensor.

    Raises:
        MoxTypeError: an object is not a handler.
        MoxValueError: a handler needs a feature that is not parsed.
    """
    for item, handler in items_to_handlers.items():
        if not hasattr(handler, "tensors_to_item") or not hasattr(handler, "keys"):
            raise MoxTypeError(
                f"items_to_handlers[{item!r}] is {handler!r}; it must be a handler such as"
                f" slim.tfexample_decoder.Tensor({item!r})."
            )
        for key in handler.keys:
            if key not in keys_to_features:
                raise MoxValueError(
                    f"items_to_handlers[{item!r}] reads the feature {key!r}, which is not among"
                    f" keys_to_features.{near_matches(key, keys_to_features)}"
                )

    def build(features: dict[str, Any]) -> dict[str, Any]:
        shaped = dict(features)
        for key in sorted(keys_to_features):
            feature = keys_to_features[key]
            if isinstance(feature, tf.io.FixedLenFeature):
                shaped[key] = tf.reshape(features[key], feature.shape)
        return {
            item: _item(handler, {key: shaped[key] for key in handler.keys})
            for item, handler in items_to_handlers.items()
        }

    return build


def _item(handler: Any, features: dict[str, Any]) -> Any:
    kind = type(handler)
    if kind.__name__ == "Image" and kind.__module__.endswith(".tfexample_decoder"):
        # Slim's own code for images calls functions that TensorFlow has removed.
        return _image(handler, features)
    return handler.tensors_to_item(features)


def _image(handler: Any, features: dict[str, Any]) -> Any:
    """Returns the item of slim's Image handler."""
    contents, kind = features[handler._image_key], features[handler._format_key]

    def decoded(content: tf.Tensor) -> tf.Tensor:
        if handler._channels == 3:
            return tf.cast(decode.decode(content), handler._dtype)
        image = tf.io.decode_image(content, handler._channels, expand_animations=False)
        return tf.cast(image, handler._dtype)

    def one(content: tf.Tensor) -> tf.Tensor:
        if handler._shape is None:
            image = decoded(content)
            image.set_shape([None, None, handler._channels or None])
            return image
        is_raw = tf.equal(tf.strings.lower(kind), b"raw")
        return tf.cond(
            is_raw,
            lambda: tf.reshape(tf.io.decode_raw(content, handler._dtype), handler._shape),
            lambda: tf.reshape(decoded(content), handler._shape),
        )

    return tf.map_fn(one, contents, dtype=handler._dtype) if handler._repeated else one(contents)
