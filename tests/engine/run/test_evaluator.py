"""A process that TF_CONFIG calls evaluator works alone, and does not train."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from moxing.cluster.cluster import Cluster
from moxing.engine.job.job import EVAL, PREDICT

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import execute, messages  # noqa: E402

EVALUATOR = Cluster(("chief:2222", "worker:2222"), ("ps:2222",), "evaluator", 0, "TF_CONFIG")
PLACES: list[dict[str, Any]] = [{}, {"synchronous": False}, {"on_servers": True}]


@pytest.mark.parametrize("place", PLACES)
def test_it_evaluates_and_predicts_what_others_train(tmp_path: Path, place: Any) -> None:
    trained = execute(log_dir=tmp_path, max_steps=3)
    found = execute(mode=EVAL, log_dir=tmp_path, max_steps=2, cluster=EVALUATOR, **place)
    assert (found.global_step, found.steps) == (3, 2)
    alone = execute(mode=EVAL, log_dir=tmp_path, max_steps=2)
    assert found.metrics == alone.metrics
    seen: list[Any] = []
    execute(
        mode=PREDICT,
        checkpoint_path=trained.checkpoint,
        max_steps=2,
        output_fn=seen.extend,
        output_every=1,
        cluster=EVALUATOR,
        **place,
    )
    assert [one["x"] for one in seen] == [1.0, 1.0]


def test_it_does_not_train(tmp_path: Path, log: Any) -> None:
    with pytest.raises(SystemExit) as end:
        execute(log_dir=tmp_path / "log", cluster=EVALUATOR)
    assert end.value.code == 0
    assert messages(log) == [
        "evaluator 0 does not train, so it ends here. Give it a program that evaluates or predicts."
    ]
    assert not (tmp_path / "log").exists()
