"""`tf.contrib.integrate`: solves ordinary differential equations in the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError, MoxValueError

__all__ = ["odeint", "odeint_fixed"]

# A function of the state and the time that returns the state's derivative.
_Derivative = Callable[[Any, Any], Any]

# The method of Dormand and Prince (1980): a step of order 5, whose error an order of 4 estimates.
_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES: tuple[tuple[float, ...], ...] = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (
    *(71 / 57600, 0, -71 / 16695, 71 / 1920),
    *(-17253 / 339200, 22 / 525, -1 / 40),
)


def odeint_fixed(
    func: _Derivative, y0: Any, t: Any, dt: Any = None, method: str = "rk4", name: Any = None
) -> Any:
    """Integrates in steps of a fixed size.

    Args:
        func: the derivative by time of a state, for the state and the time.
        y0: the state at `t[0]`.
        t: the times of the result, each later than the time before.
        dt: the size of the steps, or a size for each interval of `t`; it is reduced so that an
            interval has a whole number of steps. None: an interval is a step.
        method: "rk4" (order 4) or "midpoint" (order 2).
        name: of the name scope.

    Returns:
        The states at all times, [times, ...].

    Raises:
        MoxValueError: the method is neither.
    """
    step = {"rk4": _rk4, "midpoint": _midpoint}.get(method)
    if step is None:
        raise MoxValueError(f"odeint_fixed(method={method!r}): use 'rk4' or 'midpoint'.")
    with tf.name_scope(name, "odeint_fixed", [y0, t, dt]):
        y0, t = _checked(y0, t)
        intervals = t[1:] - t[:-1]
        wanted = intervals if dt is None else tf.cast(tf.convert_to_tensor(dt), t.dtype)
        # A quotient that rounding puts just above a whole number is that number.
        counts = tf.ceil(intervals / wanted - 1e-9)
        sizes = intervals / counts
        whole = tf.cast(counts, tf.int32)

        def interval(index: Any, state: Any) -> Any:
            def advance(i: Any, now: Any, y: Any) -> tuple[Any, Any, Any]:
                return i + 1, now + sizes[index], y + step(func, y, now, sizes[index])

            loop = (tf.constant(0), t[index], state)
            return tf.while_loop(lambda i, *_: i < whole[index], advance, loop)[2]

        return _along(interval, y0, t)


def odeint(
    func: _Derivative,
    y0: Any,
    t: Any,
    rtol: float = 1e-6,
    atol: float = 1e-12,
    method: str | None = None,
    options: dict[str, Any] | None = None,
    full_output: bool = False,
    name: str | None = None,
) -> Any:
    """Integrates by the method of Dormand and Prince, in steps whose size the error decides.

    Args:
        func, y0, t: see `odeint_fixed`.
        rtol, atol: a step's error may be `atol + rtol * the larger of both its states`.
        method: "dopri5" or None.
        options: `first_step`, `safety`, `ifactor`, `dfactor`, `max_num_steps`.
        full_output: not supported.
        name: of the name scope.

    Returns:
        The states at all times, [times, ...].

    Raises:
        MoxValueError: the method or an option is not known.
        MoxNotSupportedError: `full_output` is true.
    """
    if method not in (None, "dopri5"):
        raise MoxValueError(f"odeint(method={method!r}): use 'dopri5', or odeint_fixed.")
    if full_output:
        raise MoxNotSupportedError(
            "odeint(full_output=True) is not supported: leave it out, and count the evaluations"
            " in func."
        )
    given = {"first_step": None, "safety": 0.9, "ifactor": 10.0, "dfactor": 0.2}
    unknown = set(options or {}) - {*given, "max_num_steps"}
    if unknown:
        raise MoxValueError(f"odeint has no option {sorted(unknown)[0]!r}.")
    with tf.name_scope(name, "odeint", [y0, t, rtol, atol]):
        y0, t = _checked(y0, t)
        return _dopri5(func, y0, t, (rtol, atol), {**given, **(options or {})})


def _dopri5(
    func: _Derivative, y0: Any, t: Any, tolerance: tuple[float, float], options: dict[str, Any]
) -> Any:
    limit = int(options.get("max_num_steps", 1000))
    first = options["first_step"]

    def interval(index: Any, state: Any) -> Any:
        end = t[index + 1]

        def attempt(i: Any, now: Any, size: Any, y: Any) -> tuple[Any, ...]:
            size = tf.minimum(size, end - now)
            moved, error = _stages(func, y, now, size)
            ratio = _ratio(error, y, moved, tolerance)
            accepted = ratio <= 1
            # The error grows with the fifth power of the size.
            factor = options["safety"] * tf.pow(tf.maximum(ratio, 1e-10), -0.2)
            most = tf.where(accepted, options["ifactor"], 1.0)
            factor = tf.clip_by_value(factor, options["dfactor"], tf.cast(most, factor.dtype))
            return (
                i + 1,
                tf.where(accepted, now + size, now),
                size * tf.cast(factor, size.dtype),
                tf.cond(accepted, lambda: moved, lambda: y),
            )

        begin = end - t[index] if first is None else tf.cast(first, t.dtype)
        loop = (tf.constant(0), t[index], begin, state)
        # The last step ends at `end` but for rounding.
        room = 1e-9 * (end - t[index])
        going = lambda i, now, *_: tf.logical_and(i < limit, end - now > room)  # noqa: E731
        _, reached, _, y = tf.while_loop(going, attempt, loop)
        done = tf.Assert(
            end - reached <= room,
            [f"odeint needs more than max_num_steps={limit} steps up to the time", end],
        )
        with tf.control_dependencies([done]):
            return tf.identity(y)

    return _along(interval, y0, t)


def _stages(func: _Derivative, y: Any, now: Any, size: Any) -> tuple[Any, Any]:
    """Returns the state after a step, and the estimated error of the state."""
    slopes = [func(y, now)]
    moved = y
    for time, weights in zip(_TIMES, _STAGES, strict=True):
        moved = y + _weighted(slopes, weights, size)
        slopes.append(func(moved, now + time * size))
    return moved, _weighted(slopes, _ERROR, size)


def _weighted(slopes: Sequence[Any], weights: Sequence[float], size: Any) -> Any:
    scale = tf.cast(size, slopes[0].dtype)
    return tf.add_n([slope * (scale * w) for slope, w in zip(slopes, weights, strict=True) if w])


def _ratio(error: Any, before: Any, after: Any, tolerance: tuple[float, float]) -> Any:
    """Returns the root of the mean square of each number's error over its tolerance."""
    relative, absolute = tolerance
    allowed = absolute + relative * tf.maximum(tf.abs(before), tf.abs(after))
    return tf.sqrt(tf.reduce_mean(tf.square(tf.abs(error) / allowed)))


def _rk4(func: _Derivative, y: Any, now: Any, size: Any) -> Any:
    half, scale = now + size / 2, tf.cast(size, y.dtype)
    k1 = func(y, now)
    k2 = func(y + scale * k1 / 2, half)
    k3 = func(y + scale * k2 / 2, half)
    k4 = func(y + scale * k3, now + size)
    return (k1 + 2 * k2 + 2 * k3 + k4) * (scale / 6)


def _midpoint(func: _Derivative, y: Any, now: Any, size: Any) -> Any:
    scale = tf.cast(size, y.dtype)
    return scale * func(y + func(y, now) * scale / 2, now + size / 2)


def _checked(y0: Any, t: Any) -> tuple[Any, Any]:
    """Returns both as tensors; the graph fails where a time is not later than the time before."""
    y0 = tf.convert_to_tensor(y0, name="y0")
    t = tf.convert_to_tensor(t, preferred_dtype=tf.float64, name="t")
    if not (y0.dtype.is_floating or y0.dtype.is_complex):
        raise MoxValueError(f"y0 is of {y0.dtype.name}: give floating or complex numbers.")
    if not t.dtype.is_floating:
        raise MoxValueError(f"t is of {t.dtype.name}: give floating point times.")
    rising = tf.Assert(tf.reduce_all(t[1:] > t[:-1]), ["t must rise from each time to the next"])
    with tf.control_dependencies([rising]):
        return y0, tf.identity(t)


def _along(interval: Callable[[Any, Any], Any], y0: Any, t: Any) -> Any:
    """Returns the states at all times; `interval(i, state)` leads from `t[i]` to `t[i + 1]`."""
    times = tf.size(t)
    states = tf.TensorArray(y0.dtype, times, element_shape=y0.shape).write(0, y0)

    def advance(index: Any, y: Any, kept: Any) -> tuple[Any, Any, Any]:
        moved = interval(index, y)
        moved.set_shape(y0.shape)
        return index + 1, moved, kept.write(index + 1, moved)

    loop = (tf.constant(0), y0, states)
    stacked = tf.while_loop(lambda i, *_: i < times - 1, advance, loop)[2].stack()
    stacked.set_shape(t.shape.concatenate(y0.shape))
    return stacked
