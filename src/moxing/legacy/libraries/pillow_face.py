"""Pillow's names that programs of 2018 use and that Pillow no longer has."""

from __future__ import annotations

import functools
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
                    "fromstring": "PIL.Image:frombytes",
                    "PILLOW_VERSION": "PIL:__version__",
                    "isImageType": lambda: is_image_type,
                    "isStringType": lambda: lambda text: isinstance(text, str),
                },
                arrive=_bytes,
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


def _bytes() -> None:
    """Gives images the methods that converted to bytes before Pillow 2."""
    from PIL import Image

    users_only.add(Image.Image, "tostring", Image.Image.tobytes)
    users_only.add(Image.Image, "fromstring", Image.Image.frombytes)


def _measure() -> None:
    """Gives fonts and drawings the methods that measured text before Pillow 10."""
    from PIL import ImageDraw, ImageFont

    for font in (ImageFont.FreeTypeFont, ImageFont.ImageFont, ImageFont.TransposedFont):
        users_only.add(font, "getsize", _getsize)
    for name in ("textsize", "multiline_textsize"):
        users_only.add(ImageDraw.ImageDraw, name, _textsize)
    for name in ("rectangle", "ellipse"):
        method = getattr(ImageDraw.ImageDraw, name)
        if not hasattr(method, "takes_any_order"):
            setattr(ImageDraw.ImageDraw, name, _of_any_order(method))


def _of_any_order(method: Any) -> Any:
    """Returns a method for boxes whose corners may come in any order, as before Pillow 10."""

    @functools.wraps(method)
    def called(self: Any, xy: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, xy, *args, **kwargs)
        except ValueError as error:
            if "greater than or equal" not in str(error):
                raise
        one, other = zip(xy[:2], xy[2:], strict=True) if len(xy) == 4 else zip(*xy, strict=True)
        box = (min(one), min(other), max(one), max(other))
        return method(self, box, *args, **kwargs)

    called.takes_any_order = True  # type: ignore[attr-defined]
    return called


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
