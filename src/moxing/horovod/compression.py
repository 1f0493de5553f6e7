"""`hvd.Compression`: the type in which gradients travel."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


class NoneCompressor:
    """Gradients travel as they are."""

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        """What travels, and what `decompress` needs."""
        return tensor, None

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        """What arrived, in its own type."""
        del ctx
        return tensor


class FP16Compressor:
    """Gradients travel with 16 bits."""

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        """What travels, and what `decompress` needs."""
        if tensor.dtype.is_floating:
            return tf.cast(tensor, tf.float16), tensor.dtype
        return tensor, None

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        """What arrived, in its own type."""
        return tensor if ctx is None else tf.cast(tensor, ctx)


class Compression:
    """The two that there are."""

    none = NoneCompressor
    fp16 = FP16Compressor
