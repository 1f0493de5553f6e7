"""Recognizes image formats by their first bytes."""

from __future__ import annotations

HEAD = 16  # The number of bytes that `of` examines.

_MAGIC = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"BM", "BMP"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"\x00\x00\x00\x0cjP  ", "JPEG 2000"),
    (b"\xff\x0a", "JPEG XL"),
)
_BRANDS = {b"avif": "AVIF", b"heic": "HEIC", b"heix": "HEIC", b"mif1": "HEIC"}


def of(head: bytes) -> str | None:
    """Returns the name of the image format that starts with these bytes; None: not an image."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WebP"
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12])
    return next((name for magic, name in _MAGIC if head.startswith(magic)), None)
