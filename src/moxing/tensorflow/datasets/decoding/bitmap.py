"""Decodes Windows bitmaps (BMP) of 1, 4 and 8 bits with a palette, and of 16, 24 and 32 bits.

Format: https://learn.microsoft.com/windows/win32/gdi/bitmap-storage
"""

from __future__ import annotations

import struct

import numpy as np

LARGEST = 1 << 28  # Pixels; the result has three bytes of each.
_AT_ONCE = 1 << 20  # Pixels, each of which takes some 20 bytes while its color is looked up.
_UNCOMPRESSED = (0, 3)


def decode(content: bytes) -> np.ndarray:
    """Returns the image as uint8 [rows, columns, 3], in the order red, green, blue, without alpha.

    Raises:
        ValueError: the content is not a bitmap, or is cut off or compressed; the message says why.
    """
    if content[:2] != b"BM":
        raise ValueError("not an image of a known format")
    if len(content) < 54:
        raise ValueError("the BMP ends within its header")
    start, header = struct.unpack_from("<II", content, 10)
    if header < 40:
        raise ValueError("the BMP is of a format before Windows 3")
    columns, rows, _, depth, compression = struct.unpack_from("<iiHHI", content, 18)
    if compression not in _UNCOMPRESSED or depth not in (1, 4, 8, 16, 24, 32):
        raise ValueError(f"the BMP has {depth} bits a pixel with compression {compression}")
    if columns < 1 or rows == 0 or columns * abs(rows) > LARGEST:
        raise ValueError(f"the BMP has a size of {columns} x {rows} pixels")
    stride = (columns * depth + 31) // 32 * 4
    body = np.frombuffer(content, np.uint8, offset=min(start, len(content)))
    if body.size < stride * abs(rows):
        raise ValueError(f"the BMP ends in the middle: {body.size} of {stride * abs(rows)} bytes")
    lines = body[: stride * abs(rows)].reshape(abs(rows), stride)
    if rows > 0:
        lines = lines[::-1]  # Most bitmaps store their rows from the bottom up.
    if depth > 16:
        pixels = lines[:, : columns * depth // 8].reshape(abs(rows), columns, depth // 8)
        return np.ascontiguousarray(pixels[:, :, 2::-1])

    def colors(part: np.ndarray) -> np.ndarray:
        if depth == 16:
            return _of_16_bits(part, columns, content, compression)
        return _with_palette(part, columns, depth, content[14 + header : start])

    image = np.empty((abs(rows), columns, 3), np.uint8)
    step = max(_AT_ONCE // columns, 1)
    for first in range(0, abs(rows), step):
        image[first : first + step] = colors(lines[first : first + step])
    return image


def _with_palette(lines: np.ndarray, columns: int, depth: int, palette: bytes) -> np.ndarray:
    bits = np.unpackbits(lines, axis=1)[:, : columns * depth].reshape(len(lines), columns, depth)
    numbers = bits @ (1 << np.arange(depth)[::-1])
    colors = np.frombuffer(palette[: len(palette) // 4 * 4], np.uint8).reshape(-1, 4)
    if numbers.max() >= len(colors):
        raise ValueError(f"the BMP uses color {numbers.max()} of a palette of {len(colors)}")
    return np.ascontiguousarray(colors[numbers][:, :, 2::-1])


def _of_16_bits(lines: np.ndarray, columns: int, content: bytes, compression: int) -> np.ndarray:
    masks = (0x7C00, 0x03E0, 0x001F)
    if compression == 3:
        masks = struct.unpack_from("<III", content, 54)
    pixels = lines.view("<u2")[:, :columns].astype(np.uint32)
    planes = []
    for mask in masks:
        if not mask:
            raise ValueError("the BMP says no bits for a color")
        shift = (mask & -mask).bit_length() - 1
        planes.append(((pixels & mask) >> shift) * 255 // (mask >> shift))
    return np.stack(planes, axis=2).astype(np.uint8)
