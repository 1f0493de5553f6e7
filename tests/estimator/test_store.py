"""An Estimator whose model_dir is in an object store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing.framework import file
from moxing.framework.file import disk

pytestmark = pytest.mark.usefixtures("clean_settings")


@pytest.fixture
def url(folder_bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "local").mkdir()
    monkeypatch.setenv("MOX_FILE_CACHE_DIR", str(tmp_path / "local"))
    return f"{folder_bucket}/model"


def test_a_model_in_a_store(
    url: str,
    model_fn: Any,
    read: Callable[..., Any],
    problem: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = tfe.RunConfig(save_checkpoints_steps=10)
    estimator = tfe.Estimator(model_fn, url, config)
    training = tfe.TrainSpec(read(), max_steps=20)
    evaluation = tfe.EvalSpec(read(epochs=1), throttle_secs=0)

    result, _ = tfe.train_and_evaluate(estimator, training, evaluation)

    assert result["global_step"] == 20
    assert estimator.latest_checkpoint() == f"{url}/model.ckpt-20"
    assert any("tfevents" in name for name in file.list_directory(f"{url}/eval"))
    estimator.train(read(), steps=5)
    assert estimator.evaluate(read(epochs=1))["global_step"] == 25
    made = list(estimator.predict(read(100, epochs=1, shuffle=False)))
    weights = estimator.get_variable_value("w")
    np.testing.assert_allclose([one["logits"] for one in made], problem.x @ weights, atol=1e-5)

    with tf.Graph().as_default():
        features = {"x": tf.placeholder(tf.float32, [None, 5])}
        receiver = tfe.export.build_raw_serving_input_receiver_fn(features)
    order: list[str] = []
    replacing = disk.replacing
    monkeypatch.setattr(disk, "replacing", lambda path: order.append(path) or replacing(path))
    # As pathlib writes it, with one slash.
    path = estimator.export_saved_model(Path(f"{url}/export"), receiver).decode()
    assert path.startswith(f"{url}/export/")
    assert order[-1].endswith("/saved_model.pb")
    found = file.list_directory(path, recursive=True)
    assert found == [
        "saved_model.pb", "variables", "variables/variables.data-00000-of-00001",
        "variables/variables.index",
    ]  # fmt: skip
    assert tfe.Estimator(model_fn, Path(url)).latest_checkpoint() == f"{url}/model.ckpt-25"
