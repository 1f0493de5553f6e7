"""Draws a picture of a learning-rate range test."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

from moxing.engine.reporting.records.scale import Scale, fitting, label
from moxing.framework import file
from moxing.logs import TENSORFLOW
from moxing.tensorflow.auto.curve import Curve, smooth, window_of
from moxing.tensorflow.auto.hook import Watch
from moxing.tensorflow.auto.trials import Trials

FILE = "learning_rate_search.png"
_SIZE = (960, 560)
_LEFT, _RIGHT, _TOP, _BOTTOM = 96, 28, 52, 72
_SHARP = 2  # Draw this many times larger, then shrink the image, to smooth lines.
_TEXT, _DIM, _GRID = "#1b1c1d", "#5d6166", "#e4e6e7"
_RAW, _MEAN, _CHOSEN = "#b9d3ea", "#1f6fb4", "#c2500a"


def draw(watch: Watch, chosen: float, loss_name: str, trials: Trials, log_dir: str) -> None:
    """Writes the picture into a directory, local or in a store.

    If the directory can't be written, only a warning is logged.

    Args:
        watch: the observations of the range test.
        chosen: the learning rate that was chosen.
        loss_name: the name of the metric to draw; if it was not watched, the deciding metric.
        trials: the settings of the trials.
        log_dir: the directory.
    """
    name = loss_name if loss_name in watch.curves else trials.metric
    path = f"{log_dir.rstrip('/')}/{FILE}"
    try:
        file.make_dirs(log_dir)
        file.write(path, png(name, watch.curves[name], chosen, trials.window), binary=True)
    except OSError as error:
        TENSORFLOW.warning("The picture of the search can't be written to %s: %s", path, error)
        return
    TENSORFLOW.info("The picture of the learning-rate search: %s", path)


def png(name: str, curve: Curve, chosen: float, window: int) -> bytes:
    """Returns the picture as the bytes of a PNG file.

    Args:
        name: the name of the metric.
        curve: the metric over learning rates.
        chosen: the learning rate to mark.
        window: the number of values to average, see `mox.auto.search`.
    """
    image = Image.new("RGB", (_SIZE[0] * _SHARP, _SIZE[1] * _SHARP), "white")
    pen = _Pen(ImageDraw.Draw(image))
    pairs = [p for p in zip(curve.rates, curve.values, strict=True) if math.isfinite(p[1])]
    title = f"Learning-rate range test: {name}"
    pen.text((_LEFT, 16), title, _TEXT, size=17)
    if not pairs:
        pen.text((_LEFT, 120), f"{name} was never finite.", _TEXT)
        return _encoded(image)
    rates = [rate for rate, _ in pairs]
    means = smooth([value for _, value in pairs], window_of(window, len(pairs)))
    across = _across([*rates, chosen])
    upwards = fitting(_without_explosion([value for _, value in pairs], curve.grows))
    _draw_axes(pen, across, upwards, name)
    pen.line([(_x(across, r), _y(upwards, v)) for r, v in pairs], _RAW, 1.5)
    pen.line([(_x(across, r), _y(upwards, v)) for r, v in zip(rates, means, strict=True)], _MEAN, 3)
    x = _x(across, chosen)
    pen.line([(x, _TOP), (x, _SIZE[1] - _BOTTOM)], _CHOSEN, 2)
    side = "ra" if x > _SIZE[0] / 2 else "la"
    shift = -8 if side == "ra" else 8
    pen.text((x + shift, _TOP + 4), f"chosen: {chosen:.3g}", _CHOSEN, anchor=side)
    if curve.broke:
        pen.text((_SIZE[0] - _RIGHT, 20), f"ended: {curve.broke}", _DIM, size=13, anchor="ra")
    return _encoded(image)


class _Pen:
    """Draws in the pixel coordinates of the final picture."""

    def __init__(self, draw: ImageDraw.ImageDraw) -> None:
        self._draw = draw

    def line(self, points: Sequence[tuple[float, float]], color: str, width: float) -> None:
        scaled = [(x * _SHARP, y * _SHARP) for x, y in points]
        self._draw.line(scaled, fill=color, width=round(width * _SHARP), joint="curve")

    def text(
        self, at: tuple[float, float], text: str, color: str, size: int = 14, anchor: str = "la"
    ) -> None:
        font = ImageFont.load_default(size * _SHARP)
        place = (at[0] * _SHARP, at[1] * _SHARP)
        self._draw.text(place, text, fill=color, font=font, anchor=anchor)


def _draw_axes(pen: _Pen, across: Scale, upwards: Scale, name: str) -> None:
    bottom = _SIZE[1] - _BOTTOM
    for tick in upwards.ticks:
        y = _y(upwards, tick)
        pen.line([(_LEFT, y), (_SIZE[0] - _RIGHT, y)], _GRID, 1)
        pen.text((_LEFT - 8, y), label(tick), _DIM, 13, "rm")
    for tick in across.ticks:
        x = _x(across, tick)
        pen.line([(x, _TOP), (x, bottom)], _GRID, 1)
        pen.text((x, bottom + 8), label(tick), _DIM, 13, "ma")
    pen.line([(_LEFT, bottom), (_SIZE[0] - _RIGHT, bottom)], _DIM, 1)
    middle = (_LEFT + _SIZE[0] - _RIGHT) / 2
    pen.text((middle, _SIZE[1] - 34), "learning rate (log scale)", _DIM, anchor="ma")
    log = " (log scale)" if upwards.log else ""
    pen.text((16, _TOP - 8), f"{name[:60]}{log}", _DIM, 13, "ls")


def _across(rates: Sequence[float]) -> Scale:
    low, high = min(rates), max(rates)
    if high / low < 10:
        low, high = low / 3.2, high * 3.2
    powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
    return Scale(low, high, tuple(10.0**power for power in powers), log=True)


def _without_explosion(values: Sequence[float], grows: bool) -> list[float]:
    """Returns the values that an axis must cover, without the last values of an exploded loss."""
    if grows:
        return list(values)
    return [value for value in values if value <= 2 * abs(values[0]) + min(values)] or list(values)


def _x(scale: Scale, rate: float) -> float:
    return _LEFT + scale.at(rate) * (_SIZE[0] - _LEFT - _RIGHT)


def _y(scale: Scale, value: float) -> float:
    bottom = _SIZE[1] - _BOTTOM
    return bottom - scale.at(value) * (bottom - _TOP)


def _encoded(image: Image.Image) -> bytes:
    smaller = image.resize(_SIZE, Image.Resampling.LANCZOS)
    content = io.BytesIO()
    smaller.save(content, "PNG", optimize=True)
    return content.getvalue()
