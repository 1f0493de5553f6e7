"""Measures GIF files before they are decoded: each of their frames takes a whole picture's memory.

Format: https://www.w3.org/Graphics/GIF/spec-gif89a.txt
"""

from __future__ import annotations

import struct

import numpy as np

_HEADER = 13
_EXTENSION, _FRAME = 0x21, 0x2C


def pixels(content: bytes) -> np.int64:
    """Returns the number of pixels of all frames of a GIF, as TensorFlow decodes them.

    Args:
        content: the content of the file; if it is damaged or cut off, the frames before count.
    """
    if len(content) < _HEADER:
        return np.int64(0)
    columns, rows, flags = struct.unpack_from("<HHB", content, 6)
    place, frames = _HEADER + _palette(flags), 0
    while place + 1 < len(content):
        if content[place] == _EXTENSION:
            place = _after_blocks(content, place + 2)
        elif content[place] == _FRAME and place + 10 < len(content):
            width, height, flags = struct.unpack_from("<HHB", content, place + 5)
            columns, rows, frames = max(columns, width), max(rows, height), frames + 1
            place = _after_blocks(content, place + 11 + _palette(flags))
        else:
            break
    return np.int64(columns * rows * max(frames, 1))


def _palette(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _after_blocks(content: bytes, place: int) -> int:
    while place < len(content) and content[place]:
        place += 1 + content[place]
    return place + 1
