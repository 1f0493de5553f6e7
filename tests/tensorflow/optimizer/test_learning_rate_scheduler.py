"""Schedules against their formulas in numpy, step by step."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from moxing.errors import MoxTypeError, MoxValueError
from moxing.tensorflow.optimizer import learning_rate_scheduler as scheduler
from moxing.tensorflow.optimizer.lr_strategy import GRAMMAR, Stage, parse_lr_strategy


def rates(make: Callable[[], tf.Tensor], steps: list[int]) -> np.ndarray:
    """The learning rate at each of the global steps."""
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        rate = make()
        assert rate.dtype == tf.float32
        assert rate.shape == ()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            values = []
            for now in steps:
                step.load(now, session)
                values.append(session.run(rate))
    return np.array(values)


def piecewise(strategy: Any, samples: int, batch: int, steps: list[int]) -> np.ndarray:
    return rates(lambda: scheduler.piecewise_lr(strategy, samples, batch), steps)


def test_the_documented_strategy() -> None:
    per_epoch = 32  # ceil(1000 / 32)
    steps = list(range(0, 25 * per_epoch, 7))

    def expected(step: int) -> float:
        epoch = step / per_epoch
        if epoch < 5:
            return 0.1 + (0.4 - 0.1) * epoch / 5
        if epoch < 10:
            return 0.4 * (0.8 / 0.4) ** ((epoch - 5) / 5)
        return 0.8 if epoch < 15 else 0.08

    seen = piecewise("5:0.1->0.4,10:0.4=>0.8,15:0.8,20:0.08", 1000, 32, steps)
    np.testing.assert_allclose(seen, [expected(step) for step in steps], rtol=1e-6)


def test_boundaries_and_constants_are_exact() -> None:
    steps = [0, 49, 50, 51, 99, 100, 10**9]
    seen = piecewise("10:0.01,20:0.001", 10, 2, steps)
    first, later = np.float32(0.01), np.float32(0.001)
    assert seen.tolist() == [first, first, later, later, later, later, later]


def test_the_first_step_of_a_stage_is_its_first_number() -> None:
    seen = piecewise("1:0.3,2:0.1->0.7,3:0.2=>0.9,4:0.5", 10, 1, [9, 10, 19, 20, 29, 30])
    assert seen[[1, 3, 5]].tolist() == [np.float32(0.1), np.float32(0.2), np.float32(0.5)]
    assert seen[0] == np.float32(0.3)
    np.testing.assert_allclose(seen[2], 0.1 + 0.6 * 0.9, rtol=1e-6)
    np.testing.assert_allclose(seen[4], 0.2 * (0.9 / 0.2) ** 0.9, rtol=1e-6)


def test_the_last_number_holds_ever_after() -> None:
    assert piecewise("2:0.1->0.4", 10, 1, [20, 21, 500]).tolist() == [np.float32(0.4)] * 3
    assert piecewise("2:0.1=>0.4", 10, 1, [20, 21, 500]).tolist() == [np.float32(0.4)] * 3


def test_a_stage_may_end_within_an_epoch_and_within_a_step() -> None:
    # Half an epoch of 5 steps ends after 2.5 steps: step 2 is before it, step 3 after.
    assert piecewise("0.5:1.0,2:2.0", 5, 1, [2, 3]).tolist() == [1.0, 2.0]
    # 0.07 epochs of 100 steps are exactly 7 steps, though not in binary floating point.
    assert piecewise("0.07:1.0,2:2.0", 100, 1, [6, 7]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("strategy", ["0.002", 0.002, " 2e-3 "])
def test_a_bare_number_is_constant(strategy: Any) -> None:
    assert piecewise(strategy, 10, 2, [0, 10**12]).tolist() == [np.float32(0.002)] * 2


def test_zero_may_begin_a_linear_warm_up() -> None:
    np.testing.assert_allclose(
        piecewise("1:0->1,2:1", 4, 1, [0, 1, 2, 3, 4]), [0, 0.25, 0.5, 0.75, 1]
    )


def test_a_partial_batch_makes_a_step() -> None:
    assert piecewise("1:1.0,2:2.0", 11, 5, [2, 3]).tolist() == [1.0, 2.0]


def test_the_global_step_is_made_when_there_is_none() -> None:
    with tf.Graph().as_default() as graph:
        scheduler.piecewise_lr("1:0.1,2:0.2", 10, 1)
        assert tf.train.get_global_step(graph) is not None


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.decimals(min_value="0.01", max_value=50, places=2),
            st.floats(1e-6, 100),
            st.sampled_from(["", "->", "=>"]),
            st.floats(1e-6, 100),
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(["", " ", "  "]),
)
def test_what_is_written_is_read(stages: list[tuple[Any, ...]], blank: str) -> None:
    end, parts, expected = Fraction(0), [], []
    for length, first, arrow, last in stages:
        end += Fraction(length)
        value = f"{first!r}{blank}{arrow}{blank}{last!r}" if arrow else repr(first)
        parts.append(f"{blank}{float(end):.2f}{blank}:{blank}{value}{blank}")
        end = Fraction(f"{float(end):.2f}")
        expected.append(Stage(end, first, last if arrow else first, arrow == "=>"))
    final = expected[-1].last
    assert parse_lr_strategy(",".join(parts), "t") == (*expected, Stage(None, final, final))


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="0123456789.:,->=e +x", max_size=12))
def test_other_text_gives_a_position_and_the_grammar(text: str) -> None:
    try:
        stages = parse_lr_strategy(text, "piecewise_lr")
    except MoxValueError as error:
        lines = str(error).splitlines()
        assert lines[0].startswith(f"piecewise_lr: lr_strategy {text!r}: ")
        assert lines[-1] == GRAMMAR
        position = int(lines[0].rsplit(" ", 1)[1].rstrip("."))
        assert 1 <= position <= len(text) + 1
    else:
        assert stages[-1].end is None
        assert all(math.isfinite(stage.first) and stage.first >= 0 for stage in stages)


@pytest.mark.parametrize(
    ("strategy", "problem", "position"),
    [
        ("", "it is empty", 1),
        ("   ", "it is empty", 1),
        ("abc", "expected a number, found 'a'", 1),
        ("-0.1", "expected a number, found '-'", 1),
        ("0", "a constant learning rate of 0 trains nothing", 1),
        ("5:", "expected a learning rate, found the end", 3),
        ("5:0.1~>0.4", "expected '->', '=>' or ',', found '~'", 6),
        ("5:0.1-0.4", "expected '->', '=>' or ',', found '-'", 6),
        ("5:0.1->", "expected a learning rate, found the end", 8),
        ("5:0.1->-0.4", "expected a learning rate, found '-'", 8),
        ("5:0.1,", "expected a stage, found the end", 7),
        ("5:0.1;10:0.2", "expected '->', '=>' or ',', found ';'", 6),
        ("5:0.1,10", "expected ':', found the end", 9),
        ("5:0.1->0.2->0.3", "expected ',', found '-'", 11),
        ("0:0.1", "END 0 is not greater than 0", 1),
        ("10:0.1,10:0.2", "END 10 is not greater than the end before it, 10", 8),
        ("10:0.1, 5:0.2", "END 5 is not greater than the end before it, 10", 9),
        ("5:0=>0.1", "'=>' needs two learning rates above 0", 3),
        ("5:0.1,9:0.1=>0", "'=>' needs two learning rates above 0", 9),
        ("5:1e999", "1e999 is too large", 3),
        ("5：0.1", "expected ':', found '：'", 2),
    ],
)
def test_errors_show_the_position_and_the_grammar(
    strategy: str, problem: str, position: int
) -> None:
    with pytest.raises(MoxValueError) as caught:
        parse_lr_strategy(strategy, "piecewise_lr")
    assert str(caught.value) == (
        f"piecewise_lr: lr_strategy {strategy!r}: {problem}, at character {position}.\n"
        f"  {strategy}\n"
        f"  {' ' * (position - 1)}^\n"
        f"{GRAMMAR}"
    )


@pytest.mark.parametrize(
    ("samples", "batch", "error", "message"),
    [
        (0, 1, MoxValueError, "num_samples is 0; it must be at least 1."),
        (10, -2, MoxValueError, "global_batch_size is -2; it must be at least 1."),
        (
            10,
            None,
            MoxTypeError,
            "global_batch_size is None (NoneType); it must be a whole number.",
        ),
        (2.5, 1, MoxTypeError, "num_samples is 2.5 (float); it must be a whole number."),
        ("10", 1, MoxTypeError, "num_samples is '10' (str); it must be a whole number."),
    ],
)
def test_bad_counts(samples: Any, batch: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        scheduler.piecewise_lr("0.1", samples, batch)
    assert str(caught.value) == f"piecewise_lr: {message}"


def test_a_strategy_of_another_type() -> None:
    with pytest.raises(MoxTypeError) as caught:
        scheduler.piecewise_lr(None, 1, 1)  # type: ignore[arg-type]
    assert str(caught.value) == (
        f"piecewise_lr: lr_strategy is None (NoneType); it must be a string or a number.\n{GRAMMAR}"
    )


def ramp(step: int, max_step: int, warmup: float, decay_end: float) -> tuple[float, float]:
    progress = step / max_step
    rise = min(progress / warmup, 1.0) if warmup else 1.0
    return rise, min(max((progress - warmup) / (decay_end - warmup), 0.0), 1.0)


@pytest.mark.parametrize(("warmup", "decay_end"), [(0.1, 0.92), (0.0, 1.0), (0.25, 0.5)])
def test_linear_cosine_decay(warmup: float, decay_end: float) -> None:
    steps = list(range(0, 130, 5))
    seen = rates(
        lambda: scheduler.linear_cosine_decay(
            8.5, 0.05, tf.train.get_or_create_global_step(), 100, warmup, decay_end
        ),
        steps,
    )
    expected = []
    for step in steps:
        rise, fall = ramp(step, 100, warmup, decay_end)
        cosine = 0.5 * (1 + math.cos(math.pi * fall))
        expected.append(0.05 + (8.5 - 0.05) * rise * (1 - fall) * cosine)
    np.testing.assert_allclose(seen, expected, rtol=1e-6)
    assert max(seen) == np.float32(8.5)
    assert seen[-1] == np.float32(0.05)


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_polynomial_decay(power: float) -> None:
    steps = list(range(0, 130, 5))
    seen = rates(
        lambda: scheduler.polynomial_decay(
            6.4, 0.005, tf.train.get_or_create_global_step(), 100, 0.1, 0.95, power
        ),
        steps,
    )
    ramps = [ramp(step, 100, 0.1, 0.95) for step in steps]
    expected = [0.005 + (6.4 - 0.005) * rise * (1 - fall) ** power for rise, fall in ramps]
    np.testing.assert_allclose(seen, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            (0.1, 0.2, 0, 10, 0.1, 0.9),
            "min_lr is 0.2 and max_lr is 0.1; they must satisfy 0 <= min_lr <= max_lr and "
            "max_lr > 0.",
        ),
        ((0.1, 0.0, 0, 0, 0.1, 0.9), "max_step is 0; it must be at least 1."),
        (
            (0.1, 0.0, 0, 10, 0.9, 0.9),
            "warmup is 0.9 and decay_end is 0.9; they are shares of the run and must satisfy "
            "0 <= warmup < decay_end <= 1.",
        ),
    ],
)
def test_bad_ranges(args: tuple[Any, ...], message: str) -> None:
    for function in (scheduler.linear_cosine_decay, scheduler.polynomial_decay):
        with pytest.raises(MoxValueError) as caught:
            function(*args)
        assert str(caught.value) == f"{function.__name__}: {message}"
    with pytest.raises(MoxValueError) as caught:
        scheduler.polynomial_decay(0.1, 0.0, 0, 10, 0.0, 1.0, power=0)
    assert str(caught.value) == "polynomial_decay: power is 0; it must be above 0."
