"""`scipy.interpolate.spline` and `interp2d`, which SciPy dropped, and its older `interp1d`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import interpolate

from moxing.errors import MoxValueError

_DEGREES = {"linear": 1, "cubic": 3, "quintic": 5}


def spline(
    xk: Any, yk: Any, xnew: Any, order: int = 3, kind: str = "smoothest", conds: Any = None
) -> Any:
    """Interpolates points by the spline whose highest derivative jumps least at the points.

    Args:
        xk: the points' places, ascending, of shape [points].
        yk: their values, of shape [points, ...].
        xnew: places to read; those outside of `xk` are 0.
        order: the degree of the spline.
        kind: "smoothest".
        conds: must be None, as "smoothest" has no conditions.

    Returns:
        The values at `xnew`, of the shape of `xnew` and further dimensions of `yk`.

    Raises:
        MoxValueError: another kind, or conditions.
    """
    if kind != "smoothest" or conds is not None:
        raise MoxValueError(
            f"kind={kind!r} of scipy.interpolate.spline is not here, only 'smoothest' without"
            " conds. Use scipy.interpolate.make_interp_spline(xk, yk, k=order, bc_type=...)."
        )
    places, values = np.asarray(xk, float), np.asarray(yk, float)
    wanted = np.asarray(xnew, float)
    flat = values.reshape(len(places), -1)
    knots = np.concatenate([places[:1].repeat(order), places, places[-1:].repeat(order)])
    basis = interpolate.BSpline(knots, np.eye(len(knots) - order - 1), order)
    coefficients = _smoothest(basis, places, flat, order)
    found = interpolate.BSpline(knots, coefficients, order)(np.ravel(wanted))
    found[(np.ravel(wanted) < places[0]) | (np.ravel(wanted) > places[-1])] = 0.0
    return found.reshape(wanted.shape + values.shape[1:])


def _smoothest(basis: Any, places: Any, values: Any, order: int) -> Any:
    """Returns the coefficients of splines through all values with the least sum of squared jumps.

    The derivative of the spline's own degree is constant between two points.
    """
    at_points = basis(places)
    through = np.linalg.lstsq(at_points, values, rcond=None)[0]
    # The last rows are an orthogonal basis of the changes that leave the values at all points.
    unseen = np.linalg.svd(at_points)[2][len(places) :].T
    between = (places[1:] + places[:-1]) / 2
    jumps = np.diff(basis.derivative(order)(between) if order else basis(between), axis=0)
    change = np.linalg.lstsq(jumps @ unseen, -jumps @ through, rcond=None)[0]
    return through + unseen @ change


class interp2d:  # noqa: N801 - SciPy's name.
    """A function of two variables through points, on a grid or anywhere, by splines.

    Called with x and y, it returns an array of shape [len(y), len(x)], its places in ascending
    order; places outside of the points have the value at the border, or `fill_value`.
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        z: Any,
        kind: str = "linear",
        copy: bool = True,
        bounds_error: bool = False,
        fill_value: float | None = None,
    ) -> None:
        """Makes the function.

        Args:
            x: places: of the columns of a grid, or of each point.
            y: the y of each row of a grid, or of each point.
            z: values, of shape [len(y), len(x)], or one for each point.
            kind: "linear", "cubic" or "quintic".
            copy: has no effect: the values are always copied.
            bounds_error: whether places outside of the points are an error.
            fill_value: the value outside of the points; None: the nearest one inside.

        Raises:
            MoxValueError: an unknown kind, or lengths that don't go together.
        """
        if kind not in _DEGREES:
            raise MoxValueError(f"kind={kind!r} of interp2d must be one of {', '.join(_DEGREES)}.")
        degree = _DEGREES[kind]
        x, y = np.ravel(np.asarray(x, float)), np.ravel(np.asarray(y, float))
        z = np.asarray(z, float)
        self.bounds_error, self.fill_value = bounds_error, fill_value
        self.x_min, self.x_max = x.min(), x.max()
        self.y_min, self.y_max = y.min(), y.max()
        if z.size == len(x) * len(y):
            columns, rows = np.argsort(x), np.argsort(y)
            grid = z.reshape(len(y), len(x))[np.ix_(rows, columns)].T
            fitted = interpolate.RectBivariateSpline(
                x[columns], y[rows], grid, kx=degree, ky=degree, s=0
            )
            self._tck = (*fitted.tck, degree, degree)
        elif len(x) == len(y) == z.size:
            self._tck = interpolate.bisplrep(x, y, np.ravel(z), kx=degree, ky=degree, s=0.0)
        else:
            raise MoxValueError(
                f"interp2d got {len(x)} x, {len(y)} y and {z.size} z: z must have len(x) * len(y)"
                " values, or x, y and z the same number."
            )

    def __call__(
        self, x: Any, y: Any, dx: int = 0, dy: int = 0, assume_sorted: bool = False
    ) -> Any:
        """Returns the values, or the derivatives of orders dx and dy, at each y and each x."""
        x, y = np.atleast_1d(np.asarray(x, float)), np.atleast_1d(np.asarray(y, float))
        if not assume_sorted:
            x, y = np.sort(x), np.sort(y)
        outside_x = (x < self.x_min) | (x > self.x_max)
        outside_y = (y < self.y_min) | (y > self.y_max)
        if self.bounds_error and (outside_x.any() or outside_y.any()):
            raise MoxValueError(
                f"Places outside of {self.x_min} to {self.x_max} and {self.y_min} to"
                f" {self.y_max} were asked of interp2d with bounds_error=True."
            )
        found = np.atleast_2d(interpolate.bisplev(x, y, self._tck, dx, dy)).reshape(len(x), len(y))
        found = found.T.copy()
        if self.fill_value is not None:
            found[outside_y[:, None] | outside_x[None]] = self.fill_value
        return found[0] if len(found) == 1 else found


class interp1d(interpolate.interp1d):
    """`scipy.interpolate.interp1d`, whose splines of degree 1 may have points at one place.

    Since SciPy 0.19 a spline refuses points that share a place. One of degree 1
    (kind="slinear" or 1) jumps there: from the first of those points to the last, whose value
    holds at the place itself.
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        if str(kind) in ("slinear", "1"):
            x, y = _jumping(np.asarray(x), np.asarray(y), axis, assume_sorted)
        super().__init__(x, y, kind, axis, copy, bounds_error, fill_value, assume_sorted)


def _jumping(x: np.ndarray, y: np.ndarray, axis: int, ascending: bool) -> tuple[Any, Any]:
    # Of points at one place, the first moves to the float before, and only the last stays.
    if x.ndim != 1 or not y.ndim or y.shape[axis] != len(x):
        return x, y  # SciPy tells what is wrong
    if not ascending:
        order = np.argsort(x, kind="stable")
        x, y = x[order], y.take(order, axis)
    same = x[1:] == x[:-1]
    if not same.any():
        return x, y
    first = np.append(same, False) & ~np.append(False, same)
    last = ~np.append(same, False)
    places = np.where(first, np.nextafter(x.astype(float), -np.inf), x)
    # The float before may be a place of its own.
    kept = last | (first & (places > np.append(-np.inf, places[:-1])))
    return places[kept], y.compress(kept, axis)
