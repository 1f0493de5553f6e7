"""Programs that take a step's handle for its result, or several results for one."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import MoxAttributeError, MoxTypeError

X = np.ones((4, 2), np.float32)


def _job(shape: Callable[[Any], Any] = lambda x: x) -> Any:
    @flow.function
    def step(x: Any = flow.input_blob_def((4, 2))) -> Any:  # noqa: B008
        return shape(x)

    return step


@pytest.mark.parametrize(
    ("use", "operation"),
    [
        (lambda handle: handle.mean(), ".mean"),
        (lambda handle: handle.shape, ".shape"),
        (lambda handle: f"{handle:.3f}", "a format"),
        (float, "float(...)"),
        (int, "int(...)"),
        (len, "len(...)"),
        (lambda handle: handle[0], "[...]"),
        (lambda handle: [*handle], "an iteration or unpacking"),
        (lambda handle: handle + 1, "+"),
        (lambda handle: 2.0 * handle, "*"),
        (lambda handle: handle / 2, "/"),
        (lambda handle: handle < 1, "<"),
        (np.mean, "an array of the result"),
        (np.asarray, "an array of the result"),
    ],
)
def test_a_handle_says_which_call_to_use(use: Callable[[Any], Any], operation: str) -> None:
    handle = _job()(X)
    with pytest.raises((MoxAttributeError, MoxTypeError)) as caught:
        use(handle)
    assert str(caught.value) == (
        f"{operation}: the call of job step returned a handle, as the step may still run then."
        " Take the step's result first: step(...).get()."
    )
    assert not hasattr(handle, "mean")
    assert repr(handle) == "<a step of job step: .get() waits for its result>"
    assert handle.get().mean() == 1


@pytest.mark.parametrize(
    ("shape", "kind", "first"),
    [
        (lambda x: (x, x + 1), tuple, 0),
        (lambda x: [x, x + 1], list, 0),
        (lambda x: {"loss": x, "other": x + 1}, dict, "loss"),
    ],
)
def test_several_results_say_how_to_take_the_first(
    shape: Callable[[Any], Any], kind: type, first: Any
) -> None:
    found = _job(shape)(X).get()
    with pytest.raises(MoxAttributeError) as caught:
        found.mean()
    assert str(caught.value) == (
        f".mean: the job returns a {kind.__name__} of 2, and so does its .get(). Take a result from"
        f" the {kind.__name__} first: result[{first!r}].mean."
    )
    with pytest.raises(AttributeError, match=f"'{kind.__name__}' object has no attribute 'means'"):
        found.means()
    assert isinstance(found, kind)
    for other in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):  # noqa: S301
        assert type(other) is type(found)
        assert other[first].tolist() == X.tolist()
