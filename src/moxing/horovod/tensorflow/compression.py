"""`horovod.tensorflow.compression`: the compressors by the path of Horovod's own module."""

from __future__ import annotations

from moxing.horovod.compression import Compression, FP16Compressor, NoneCompressor

__all__ = ["Compression", "FP16Compressor", "NoneCompressor"]
