"""The image functions of `scipy.misc` as SciPy 1.0 had them, made with Pillow."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

_RESAMPLE = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "cubic": 3}
_FILTERS = {
    "blur": ImageFilter.BLUR,
    "contour": ImageFilter.CONTOUR,
    "detail": ImageFilter.DETAIL,
    "edge_enhance": ImageFilter.EDGE_ENHANCE,
    "edge_enhance_more": ImageFilter.EDGE_ENHANCE_MORE,
    "emboss": ImageFilter.EMBOSS,
    "find_edges": ImageFilter.FIND_EDGES,
    "smooth": ImageFilter.SMOOTH,
    "smooth_more": ImageFilter.SMOOTH_MORE,
    "sharpen": ImageFilter.SHARPEN,
}
_SHAPE = "'arr' does not have a suitable array shape for any mode."


def bytescale(
    data: Any, cmin: Any = None, cmax: Any = None, high: int = 255, low: int = 0
) -> np.ndarray:
    """Scales numbers from `cmin` to `cmax` to bytes from `low` to `high`.

    Args:
        data: an array; an array of bytes is returned unchanged.
        cmin: default: the smallest number.
        cmax: default: the largest number.

    Raises:
        ValueError: limits in the wrong order, or beyond 0 and 255.
    """
    data = np.asarray(data)
    if data.dtype == np.uint8:
        return data
    if high > 255:
        raise ValueError("`high` should be less than or equal to 255.")
    if low < 0:
        raise ValueError("`low` should be greater than or equal to 0.")
    if high < low:
        raise ValueError("`high` should be greater than or equal to `low`.")
    least = data.min() if cmin is None else cmin
    greatest = data.max() if cmax is None else cmax
    span = greatest - least
    if span < 0:
        raise ValueError("`cmax` should be larger than `cmin`.")
    scale = float(high - low) / (span or 1)
    scaled = (data - least) * scale + low
    return (scaled.clip(low, high) + 0.5).astype(np.uint8)


def imread(name: Any, flatten: bool = False, mode: str | None = None) -> np.ndarray:
    """Reads an image file as an array (height, width) or (height, width, channels).

    Args:
        name: the path of the file, or an open file.
        flatten: whether to convert the image to one channel of float32.
        mode: Pillow's mode to which the image is converted.
    """
    with Image.open(name) as image:
        return fromimage(image, flatten=flatten, mode=mode)


def fromimage(im: Any, flatten: bool = False, mode: str | None = None) -> np.ndarray:
    """Returns a Pillow image as an array; a palette image becomes RGB, or RGBA if needed.

    Raises:
        TypeError: `im` is no image.
    """
    if not isinstance(im, Image.Image):
        raise TypeError("Input is not a PIL image.")
    if mode is not None:
        im = im if mode == im.mode else im.convert(mode)
    elif im.mode == "P":
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    if flatten:
        im = im.convert("F")
    elif im.mode == "1":
        im = im.convert("L")
    return np.array(im)


def imsave(name: Any, arr: Any, format: str | None = None) -> None:
    """Writes an array as an image file; numbers other than bytes are scaled to 0 to 255."""
    toimage(arr, channel_axis=2).save(name, format)


def imshow(arr: Any) -> None:
    """Shows an array with the command in $SCIPY_PIL_IMAGE_VIEWER, by default `see`.

    Raises:
        RuntimeError: the command isn't there, or fails.
    """
    viewer = os.environ.get("SCIPY_PIL_IMAGE_VIEWER", "see")
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "image.png")
        toimage(arr).save(name)
        if os.system(f"{viewer} {name}"):  # the variable may hold a command with arguments
            raise RuntimeError(
                f"Could not execute image viewer: '{viewer}' of $SCIPY_PIL_IMAGE_VIEWER failed."
                " Give that variable a command that shows a file, such as xdg-open."
            )


def toimage(
    arr: Any,
    high: int = 255,
    low: int = 0,
    cmin: Any = None,
    cmax: Any = None,
    pal: Any = None,
    mode: str | None = None,
    channel_axis: int | None = None,
) -> Image.Image:
    """Returns an array as a Pillow image, scaled by `bytescale` except in the modes F and I.

    Args:
        arr: (height, width), or three axes, one of which holds 3 or 4 channels.
        pal: a palette, (256, 3).
        mode: Pillow's mode: L, P, 1, F, I for two axes; RGB, YCbCr for 3 channels; RGBA, CMYK for
            4 channels.
        channel_axis: default: the first axis of length 3, else the first axis of length 4.

    Raises:
        ValueError: the array is no image, or does not fit the mode.
    """
    data = np.asarray(arr)
    if np.iscomplexobj(data):
        raise ValueError("Cannot convert a complex-valued array.")
    shape = data.shape
    if data.ndim == 2:
        return _of_plane(data, high, low, cmin, cmax, pal, mode)
    if data.ndim != 3 or not (3 in shape or 4 in shape):
        raise ValueError(_SHAPE)
    axis = channel_axis
    if axis is None:
        axis = shape.index(3) if 3 in shape else shape.index(4)
    channels = shape[axis]
    if channels not in (3, 4):
        raise ValueError("Channel axis dimension is not valid.")
    scaled = np.moveaxis(bytescale(data, cmin, cmax, high, low), axis, 2)
    mode = mode or ("RGB" if channels == 3 else "RGBA")
    if mode not in ("RGB", "RGBA", "YCbCr", "CMYK"):
        raise ValueError(_SHAPE)
    if (mode in ("RGB", "YCbCr")) != (channels == 3):
        raise ValueError("Invalid array shape for mode.")
    return Image.frombytes(mode, (scaled.shape[1], scaled.shape[0]), scaled.tobytes())


def _of_plane(
    data: np.ndarray, high: int, low: int, cmin: Any, cmax: Any, pal: Any, mode: str | None
) -> Image.Image:
    size = (data.shape[1], data.shape[0])
    if mode == "F":
        return Image.frombytes("F", size, data.astype(np.float32).tobytes())
    if mode in (None, "L", "P"):
        image = Image.frombytes("L", size, bytescale(data, cmin, cmax, high, low).tobytes())
        if pal is not None:
            image.putpalette(np.asarray(pal, np.uint8).tobytes())
        elif mode == "P":
            grays = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, axis=1)
            image.putpalette(grays.tobytes())
        return image
    if mode == "1":
        return Image.frombytes("1", size, np.packbits(data > 0, axis=1).tobytes())
    if mode != "I":
        raise ValueError(_SHAPE)
    least = data.min() if cmin is None else cmin
    greatest = data.max() if cmax is None else cmax
    scaled = (data * 1.0 - least) * (high - low) / (greatest - least) + low
    return Image.frombytes("I", size, scaled.astype(np.uint32).tobytes())


def imrotate(arr: Any, angle: float, interp: str = "bilinear") -> np.ndarray:
    """Returns the image rotated counterclockwise by `angle` degrees, in its own size, as bytes.

    Args:
        interp: nearest, bilinear, bicubic or cubic.
    """
    return fromimage(toimage(np.asarray(arr)).rotate(angle, Image.Resampling(_RESAMPLE[interp])))


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: str | None = None) -> np.ndarray:
    """Returns the image in another size, as bytes; `toimage` scales its numbers to 0 to 255.

    Args:
        size: an integer: percent; a float: a factor; a pair: (height, width).
        interp: nearest, lanczos, bilinear, bicubic or cubic.
        mode: Pillow's mode in which the image is resized.
    """
    im = toimage(arr, mode=mode)
    if isinstance(size, int | np.signedinteger):
        new = tuple((np.array(im.size) * (size / 100.0)).astype(int).tolist())
    elif isinstance(size, float | np.floating):
        new = tuple((np.array(im.size) * size).astype(int).tolist())
    else:
        new = (int(size[1]), int(size[0]))
    return fromimage(im.resize(new, Image.Resampling(_RESAMPLE[interp])))


def imfilter(arr: Any, ftype: str) -> np.ndarray:
    """Returns the image filtered by Pillow, such as with `blur` or `find_edges`, as bytes.

    Raises:
        ValueError: there is no such filter.
    """
    if ftype not in _FILTERS:
        raise ValueError("Unknown filter type specified.")
    return fromimage(toimage(arr).filter(_FILTERS[ftype]))
