"""Pillow's names that programs of 2018 use and that Pillow no longer has."""

from __future__ import annotations

from typing import Any

from moxing.legacy.face.faces import Spec
from moxing.legacy.libraries import users_only


def spec() -> Spec:
    """Pillow with its old names; everything else is Pillow's own."""
    return Spec(
        roots=("PIL",),
        names={
            "Image": Spec(
                roots=("PIL.Image",),
                names={
                    "ANTIALIAS": "PIL.Image:Resampling.LANCZOS",
                    "CUBIC": "PIL.Image:Resampling.BICUBIC",
                    "LINEAR": "PIL.Image:Resampling.BILINEAR",
                    "VERSION": lambda: "1.1.7",
                    "PILLOW_VERSION": "PIL:__version__",
                    "isImageType": lambda: is_image_type,
                    "isStringType": lambda: lambda text: isinstance(text, str),
                },
                library=True,
            ),
            "ImageDraw": Spec(roots=("PIL.ImageDraw",), arrive=_measure, library=True),
            "ImageFont": Spec(roots=("PIL.ImageFont",), arrive=_measure, library=True),
            "PILLOW_VERSION": "PIL:__version__",
            "VERSION": lambda: "1.1.7",
        },
        library=True,
    )


def is_image_type(t: Any) -> bool:
    """Whether an object is an image of Pillow."""
    return hasattr(t, "im")


def _measure() -> None:
    """Gives fonts and drawings the methods that measured text before Pillow 10."""
    from PIL import ImageDraw, ImageFont

    for font in (ImageFont.FreeTypeFont, ImageFont.ImageFont, ImageFont.TransposedFont):
        users_only.add(font, "getsize", _getsize)
    users_only.add(ImageDraw.ImageDraw, "textsize", _textsize)


def _getsize(font: Any, text: str, *args: Any, **kwargs: Any) -> tuple[int, int]:
    """Returns width and height of a line of text, including the space above its letters."""
    left, _, right, bottom = font.getbbox(text, *args, **kwargs)
    return int(right - left), int(bottom)


def _textsize(
    draw: Any, text: str, font: Any = None, spacing: int = 4, **options: Any
) -> tuple[int, int]:
    """Returns width and height of a text of one or more lines."""
    font = font or draw.getfont()
    lines = text.split("\n")
    if len(lines) == 1:
        return _getsize(font, text, **options)
    height = _getsize(font, "A", **options)[1] + spacing
    widths = [_getsize(font, line, **options)[0] for line in lines]
    return max(widths), len(lines) * height - spacing
