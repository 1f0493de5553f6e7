"""Kernels of convolutions as Theano and TensorFlow compute with them, converted to each other.

Theano convolves, TensorFlow correlates: a kernel of the one is that of the other turned around
along each axis of space.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from moxing.errors import MoxValueError

_CONVOLUTIONS = ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose")


def convert_kernel(kernel: Any) -> np.ndarray:
    """Returns a copy of a kernel, turned around along its axes of space.

    Args:
        kernel: of shape [*space, channels in, channels out], with one to three axes of space.

    Raises:
        MoxValueError: another number of axes.
    """
    kernel = np.asarray(kernel)
    if not 3 <= kernel.ndim <= 5:
        raise MoxValueError(
            f"convert_kernel: a kernel has 3, 4 or 5 axes, not {kernel.ndim} (shape"
            f" {kernel.shape})."
        )
    return np.flip(kernel, axis=tuple(range(kernel.ndim - 2))).copy()


def convert_all_kernels_in_model(model: Any) -> None:
    """Converts the kernels of all convolutions of a model, in place."""
    from tf_keras import backend

    for layer in model.layers:
        if type(layer).__name__ in _CONVOLUTIONS:
            backend.set_value(layer.kernel, convert_kernel(backend.get_value(layer.kernel)))


def deconv_length(
    dim_size: int | None,
    stride_size: int,
    kernel_size: int,
    padding: str,
    output_padding: int | None = None,
    dilation: int = 1,
) -> int | None:
    """Returns the length of a transposed convolution's output; None: the input's is not known.

    Args:
        dim_size: the length of the input.
        stride_size: the stride.
        kernel_size: the length of the kernel.
        padding: "same", "valid" or "full".
        output_padding: elements added at one end of the output; None: as the padding wants.
        dilation: the distance of two elements of the kernel.
    """
    from tf_keras.src.utils import conv_utils

    length: int | None = conv_utils.deconv_output_length(
        dim_size, kernel_size, padding, output_padding, stride_size, dilation
    )
    return length
