"""Values and gradients of every operation are numpy's: one device, even and uneven shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flow_operations import CASES, RANDOM, Case

import moxing.flow as flow

# Cases whose inputs can't have three samples: a shape in the case counts on two.
OF_TWO = {
    *("math.unsorted_segment_sum along the last axis", "scatter_nd", "tensor_scatter_nd_update"),
    *("tensor_scatter_nd_add", "unsorted_batch_segment_sum of two batch axes"),
    "unsorted_batch_segment_sum of rows",
}
# Devices, and how many samples the two of a case become: three for two devices and four for three
# can't be shared evenly.
ONE, TWO, UNEVEN, THREE = (
    pytest.param(*pair, id="{} devices, {} samples".format(*pair), marks=pytest.mark.slow)
    for pair in ((1, 2), (2, 2), (2, 3), (3, 4))
)
TYPES = {"float32": flow.float, "int32": flow.int32}


def _arrays(case: Case, samples: int) -> list[np.ndarray]:
    """The inputs of a case, its two samples repeated until there are `samples`."""
    if case.name in OF_TWO:
        return list(case.given)
    return [np.concatenate([g, g])[:samples] if len(g) == 2 else g for g in case.given]


def _definition(array: np.ndarray, count: int) -> Any:
    """Devices share the axis 0 of an input that is long enough."""
    axis = 0 if len(array) >= count else None
    return flow.FixedTensorDef(array.shape, TYPES[array.dtype.name], axis)


@pytest.mark.parametrize(("count", "samples"), [ONE, TWO, UNEVEN, THREE])
def test_every_operation_makes_what_numpy_makes(
    devices: Callable[[int], None], count: int, samples: int
) -> None:
    """One session of all cases; each job has variables of its own by its scope."""
    devices(count)
    given = [_arrays(case, samples) for case in CASES]
    jobs = []
    for index, (case, arrays) in enumerate(zip(CASES, given, strict=True)):
        definitions = [_definition(array, count) for array in arrays]

        def run(blobs: Any = definitions, case: Case = case, index: int = index) -> Any:
            with flow.deprecated.variable_scope(f"case{index}"):
                return case.run(*blobs)

        jobs.append(_named(f"job{index}", run, definitions))
    flow.train.CheckPoint().init()

    wrong = []
    for job, case, arrays in zip(jobs, CASES, given, strict=True):
        found, wanted = job(arrays).get(), np.asarray(case.wanted(*arrays))
        # float32 loses digits in tan and in powers.
        if found.shape != wanted.shape or not np.allclose(found, wanted, rtol=1e-4, atol=1e-5):
            wrong.append((case.name, found.tolist(), wanted.tolist()))
    assert not wrong


def _named(name: str, run: Callable[[Any], Any], definitions: list[Any]) -> Any:
    def job(blobs: Any = definitions) -> Any:
        return run(blobs)

    job.__name__ = name
    return flow.function(job)


def _moved(given: np.ndarray, place: int) -> np.ndarray:
    if given.dtype != np.float32 or np.allclose(given.sum(-1), 1):
        return given
    return given * np.float32(1.013 + 0.016 * place)


def _slopes(
    case: Case, given: list[np.ndarray], weights: np.ndarray, which: int, places: np.ndarray
) -> list[float]:
    """The gradient of `sum(case * weights)` at places of one input, by central differences."""
    values = [g.astype(np.float64) if g.dtype == np.float32 else g for g in given]
    result, step = [], 1e-5
    for place in places:
        ends = []
        for sign in (1, -1):
            moved = [value.copy() for value in values]
            moved[which].reshape(-1)[place] += sign * step
            ends.append(float(np.sum(np.asarray(case.wanted(*moved)) * weights)))
        result.append((ends[0] - ends[1]) / (2 * step))
    return result


@pytest.mark.parametrize(("count", "samples"), [ONE, UNEVEN, THREE])
def test_every_gradient_is_that_of_numpy(
    devices: Callable[[int], None], count: int, samples: int
) -> None:
    """One job of all cases, whose loss is the sum of their results, each times a random weight."""
    devices(count)
    # In a train job dropout drops. Inputs are moved, so that none is where a function has a corner.
    cases = [
        case
        for case in CASES
        if not case.name.startswith(("nn.dropout", "keras")) and not case.name.endswith("number")
    ]
    # Labels stay, as the softmax loss takes it that they sum to 1.
    given = [[_moved(g, i) for i, g in enumerate(_arrays(case, samples))] for case in cases]
    weights = [
        RANDOM.normal(size=np.shape(case.wanted(*g))).astype(np.float32)
        for case, g in zip(cases, given, strict=True)
    ]
    arrays = [array for arguments in given for array in arguments] + weights
    defs = [_definition(array, count) for array in arrays]
    found: dict[tuple[int, int], np.ndarray] = {}
    config = flow.FunctionConfig()
    config.train.primary_lr(0.0)
    config.train.model_update_conf({"naive_conf": {}})

    @flow.function(config)
    def job(blobs: Any = defs) -> None:
        rest, losses = iter(blobs), []
        zero = flow.get_variable("zero", (1,), initializer=flow.zeros_initializer())
        for index, (case, arguments) in enumerate(zip(cases, given, strict=True)):
            inputs = [next(rest) for _ in arguments]
            inputs = [x + zero if x.dtype == flow.float else x for x in inputs]
            with flow.deprecated.variable_scope(f"case{index}"):
                made = case.run(*inputs)
            if made.dtype != flow.float:
                continue
            losses.append(flow.math.reduce_sum(made * blobs[index - len(cases)]))
            for place, x in enumerate(inputs):
                if x.dtype == flow.float:
                    # Some results do not depend on an input.
                    losses.append(flow.math.reduce_sum(x))
                    key = index, place
                    flow.watch_diff(x, lambda value, key=key: found.update({key: np.array(value)}))
        flow.losses.add_loss(flow.math.add_n(losses))

    flow.train.CheckPoint().init()
    job(arrays)
    flow.train.CheckPoint().init()  # Waits for the step.

    wrong = []
    for (index, place), slope in sorted(found.items()):
        case = cases[index]
        places = RANDOM.permutation(slope.size)[:12]  # Of some inputs, a part is enough.
        wanted = np.add(_slopes(case, given[index], weights[index], place, places), 1)
        if not np.allclose(slope.ravel()[places], wanted, rtol=2e-3, atol=2e-3):
            wrong.append((case.name, place, places, slope.ravel()[places], wanted))
    assert not wrong, wrong
    assert len(found) > 100
