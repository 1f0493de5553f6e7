"""Draws values over steps as a self-contained SVG, with the data for the page's pointer."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from moxing.engine.reporting.records.scale import Scale, fitting, label, linear

_WIDTH, _HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 68, 16, 14, 44
_MARKED = 60  # Curves of up to this many points mark each point.

_Points = Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Curve:
    """One line of a chart.

    Attributes:
        name: the name of the line.
        points: global step and value, in order; values may be NaN or infinite.
        kind: the color, a letter from "a" to "h".
    """

    name: str
    points: _Points
    kind: str = "a"


def chart(title: str, curves: Sequence[Curve]) -> str:
    """Returns a figure of these curves; if no value is finite, a sentence that says so.

    Args:
        title: the heading, and the name of the vertical axis.
        curves: at least one.
    """
    finite = [(s, v) for curve in curves for s, v in curve.points if math.isfinite(v)]
    heading = f"<figcaption>{escape(title)}{_legend(curves)}</figcaption>"
    notes = "".join(_not_finite(curve) for curve in curves)
    if not finite:
        return f'<figure class="chart">{heading}{notes or "<p>No values.</p>"}</figure>'
    across = linear(min(s for s, _ in finite), max(s for s, _ in finite), 6)
    upwards = fitting([value for _, value in finite])
    drawn = "".join(_curve(curve, across, upwards) for curve in curves)
    svg = (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)} over'
        f' global steps">{_axes(title, across, upwards)}{drawn}'
        '<line class="cross" y1="{}" y2="{}" hidden="hidden"/></svg>'.format(
            _TOP, _HEIGHT - _BOTTOM
        )
    )
    return f'<figure class="chart">{heading}{svg}{_data(curves, across, upwards)}{notes}</figure>'


def _legend(curves: Sequence[Curve]) -> str:
    if len(curves) < 2:
        return ""
    keys = [f'<span class="key {c.kind}">{escape(c.name)}</span>' for c in curves]
    return f'<span class="legend">{" ".join(keys)}</span>'


def _axes(title: str, across: Scale, upwards: Scale) -> str:
    parts = []
    for tick in upwards.ticks:
        y = f"{_y(upwards, tick):.1f}"
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>'
            f'<text class="tick" x="{_LEFT - 6}" y="{y}" dy="4" text-anchor="end">'
            f"{label(tick)}</text>"
        )
    bottom = _HEIGHT - _BOTTOM
    for tick in across.ticks:
        if tick != int(tick):
            continue  # Steps are whole numbers, so ticks between them are left out.
        x = f"{_x(across, tick):.1f}"
        parts.append(
            f'<line class="axis" x1="{x}" x2="{x}" y1="{bottom}" y2="{bottom + 4}"/>'
            f'<text class="tick" x="{x}" y="{bottom + 17}" text-anchor="middle">'
            f"{label(tick)}</text>"
        )
    named = title if len(title) <= 40 else f"{title[:39]}…"
    upward = f"{named} (log scale)" if upwards.log else named
    middle = (_TOP + bottom) / 2
    parts.append(
        f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{bottom}" y2="{bottom}"/>'
        f'<text class="label" x="{(_LEFT + _WIDTH - _RIGHT) / 2:.0f}" y="{_HEIGHT - 8}"'
        ' text-anchor="middle">global step</text>'
        f'<text class="label" transform="translate(14 {middle:.0f}) rotate(-90)"'
        f' text-anchor="middle">{escape(upward)}</text>'
    )
    return "".join(parts)


def _curve(curve: Curve, across: Scale, upwards: Scale) -> str:
    path, marks, pen = [], [], "M"
    for step, value in curve.points:
        if not math.isfinite(value):
            pen = "M"  # The line has a gap here.
            continue
        x, y = f"{_x(across, step):.1f}", f"{_y(upwards, value):.1f}"
        path.append(f"{pen}{x} {y}")
        pen = "L"
        if len(curve.points) <= _MARKED:
            marks.append(f'<circle class="{curve.kind}" cx="{x}" cy="{y}" r="2.5"/>')
    return f'<path class="{curve.kind}" d="{"".join(path)}"/>{"".join(marks)}'


def _data(curves: Sequence[Curve], across: Scale, upwards: Scale) -> str:
    """The data that the page's script shows beside the pointer."""
    content = {
        "box": [_LEFT, _RIGHT, _TOP, _BOTTOM],
        "x": [across.low, across.high],
        "y": [upwards.low, upwards.high, upwards.log],
        "curves": [
            {
                "name": curve.name,
                "kind": curve.kind,
                "steps": [step for step, _ in curve.points],
                "values": [_short(value) for _, value in curve.points],
            }
            for curve in curves
        ],
    }
    return f'<script type="application/json">{in_script(content)}</script>'


def in_script(content: object) -> str:
    """Returns JSON for a script element: no part of it ends the element or starts markup."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _short(value: float) -> float | str:
    return float(f"{value:.6g}") if math.isfinite(value) else str(value)


def _not_finite(curve: Curve) -> str:
    steps = [step for step, value in curve.points if not math.isfinite(value)]
    if not steps:
        return ""
    first = next(value for _, value in curve.points if not math.isfinite(value))
    more = "" if len(steps) == 1 else f"; not finite at {len(steps) - 1} or more other steps"
    return f'<p class="warn">{escape(curve.name)}: {first} at step {steps[0]:,}{more}.</p>'


def _x(scale: Scale, step: float) -> float:
    return _LEFT + scale.at(step) * (_WIDTH - _LEFT - _RIGHT)


def _y(scale: Scale, value: float) -> float:
    bottom = _HEIGHT - _BOTTOM
    return bottom - scale.at(value) * (bottom - _TOP)
