"""`hvd.Compression`: the dtype in which processes exchange gradients."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


class NoneCompressor:
    """Exchanges gradients without a change of dtype."""

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        """Returns the tensor to exchange, and the context for `decompress`."""
        return tensor, None

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        """Returns the exchanged tensor in its original dtype."""
        del ctx
        return tensor


class FP16Compressor:
    """Exchanges floating-point gradients as float16."""

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        """Returns the tensor to exchange, and the context for `decompress`."""
        if tensor.dtype.is_floating:
            return tf.cast(tensor, tf.float16), tensor.dtype
        return tensor, None

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        """Returns the exchanged tensor in its original dtype."""
        return tensor if ctx is None else tf.cast(tensor, ctx)


class Compression:
    """The available compressors."""

    none = NoneCompressor
    fp16 = FP16Compressor
