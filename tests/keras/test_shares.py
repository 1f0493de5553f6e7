"""Shares of one process that have one set of variables: none sees what another wrote."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

import moxing.keras
from moxing.engine.graph import ancestry
from moxing.engine.job.job import Job, Result
from moxing.engine.model import program
from moxing.engine.run import execution


class _Built(Exception):
    """Ends fit where training would begin."""


def test_a_seed_is_written_after_all_shares_have_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[program.Program] = []

    def execute(job: Job) -> Result:
        found.append(program.build(job))
        raise _Built

    monkeypatch.setattr(execution, "execute", execute)
    layers: list[Any] = [keras.layers.Input((4,)), keras.layers.Dropout(0.5), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.compile("sgd", "mse")
    data = np.ones((8, 4), np.float32), np.ones((8, 1), np.float32)
    with pytest.raises(_Built):
        moxing.keras.fit(model, data, batch_size=4, num_gpus=3)

    uses = [
        op
        for op in ancestry.behind([found[0].step_op])
        if any(tensor.name == "seed_generator/seed_generator_state:0" for tensor in op.inputs)
    ]
    reads = {op for op in uses if op.type == "ReadVariableOp"}
    writes = [op for op in uses if op.type == "AssignVariableOp"]
    assert len(reads) >= 3
    assert writes
    for write in writes:
        assert reads <= set(write.control_inputs)
