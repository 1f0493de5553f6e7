"""Layers without a name in checkpoints: the original's names, and those of earlier versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import CheckpointError
from moxing.flow.saving import unnamed
from moxing.flow.trace import context

Define = Callable[[], Any]


def _network(x: Any) -> Any:
    """The input takes number 0, the layers 1, 4 and 7, other operations those between and after."""
    x = flow.layers.conv2d(x, 2, kernel_initializer=flow.random_uniform_initializer())
    x = flow.layers.conv2d(flow.nn.relu(x), 2, kernel_initializer=flow.ones_initializer())
    return flow.layers.dense(flow.reshape(x, (4, 8)), 3, kernel_initializer=_uniform())


def _uniform() -> Any:
    return flow.random_uniform_initializer()


def _input() -> Any:
    return flow.FixedTensorDef((4, 3, 2, 2))


def _train_job() -> Any:
    config = flow.FunctionConfig()
    config.train.primary_lr(0.1)
    config.train.model_update_conf({"momentum_conf": {}})

    @flow.function(config)
    def learn(x: Any = _input()) -> Any:  # noqa: B008
        loss = flow.math.reduce_sum(_network(x), 1)
        flow.losses.add_loss(loss)
        return loss

    return learn


def _predict_job() -> Any:
    @flow.function(flow.FunctionConfig())
    def predict(x: Any = _input()) -> Any:  # noqa: B008
        return _network(x)

    return predict


def _folders(checkpoint: Path) -> set[str]:
    return {str(path.parent.relative_to(checkpoint)) for path in checkpoint.glob("**/out")}


def _again() -> None:
    """Begins another program."""
    flow.clear_default_session()
    context.numbers.next = 0


IMAGES = np.random.default_rng(3).normal(size=(4, 3, 2, 2)).astype(np.float32)
LAYERS = ("Conv2D_1-weight", "Conv2D_1-bias", "Conv2D_4-weight", "Conv2D_4-bias")
LAYERS += ("Dense_7-weight", "Dense_7-bias")


def test_a_checkpoint_has_the_names_that_the_original_looks_for(tmp_path: Path) -> None:
    job = _train_job()
    point = flow.train.CheckPoint()
    point.init()
    job(IMAGES).get()
    point.save(str(tmp_path / "saved"))

    slots = {f"{name}-momentum" for name in LAYERS}
    assert _folders(tmp_path / "saved") == {*LAYERS, *slots, "System-Train-TrainStep-learn"}
    expected = job(IMAGES).get()
    _again()
    job = _train_job()
    point = flow.train.CheckPoint()
    point.load(str(tmp_path / "saved"))
    np.testing.assert_array_equal(job(IMAGES).get(), expected)


def test_jobs_share_layers_here_and_have_their_own_in_the_original(tmp_path: Path) -> None:
    """A program that trains and predicts: the original looks for the variables of both jobs."""
    learn, predict = _train_job(), _predict_job()
    point = flow.train.CheckPoint()
    point.init()
    learn(IMAGES).get()
    expected = predict(IMAGES).get()
    point.save(str(tmp_path / "saved"))

    # Both inputs are numbered before the jobs, and the train job ends with a sum and its result.
    ours = {name.replace("_7", "_8").replace("_4", "_5").replace("_1", "_2") for name in LAYERS}
    theirs = {n.replace("_7", "_17").replace("_4", "_14").replace("_1-", "_11-") for n in LAYERS}
    slots = {f"{name}-momentum" for name in ours}
    found = _folders(tmp_path / "saved")
    assert found == ours | theirs | slots | {"System-Train-TrainStep-learn"}
    for kind, (own, other) in {"Conv2D": (2, 11), "Dense": (8, 17)}.items():
        first, second = (tmp_path / f"saved/{kind}_{n}-weight/out" for n in (own, other))
        assert first.read_bytes() == second.read_bytes()
    _again()
    predict = _predict_job()  # Alone: the layers have other numbers than at the save.
    flow.train.CheckPoint().load(str(tmp_path / "saved"))
    np.testing.assert_array_equal(predict(IMAGES).get(), expected)


def _write(folder: Path, values: dict[str, np.ndarray], of_ours: bool) -> str:
    for name, value in values.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "out").write_bytes(value.astype("<f4").tobytes())
    (folder / "snapshot_done").touch()
    if of_ours:
        (folder / ".digests.json").write_text("{}")
    return str(folder)


def _values(numbers: tuple[int, int, int]) -> dict[str, np.ndarray]:
    first, second, dense = numbers
    return {
        f"Conv2D_{first}-weight": np.full((2, 3, 1, 1), 1.0),
        f"Conv2D_{first}-bias": np.full(2, 2.0),
        f"Conv2D_{second}-weight": np.full((2, 2, 1, 1), 3.0),
        f"Conv2D_{second}-bias": np.full(2, 4.0),
        f"Dense_{dense}-weight": np.full((3, 8), 5.0),
        f"Dense_{dense}-bias": np.full(3, 6.0),
    }


RESULT = ((1 * 3 + 2) * 2 * 3 + 4) * 8 * 5 + 6


@pytest.mark.parametrize(
    ("numbers", "more", "of_ours"),
    [
        ((1, 4, 7), {}, False),  # The original, written by this program.
        ((0, 3, 6), {}, False),  # The original, by a version that numbers otherwise.
        ((0, 1, 0), {}, True),  # An earlier version of this product.
        # Checkpoints that have both names, of which one belongs to layers that the job lacks.
        ((1, 4, 7), {"Conv2D_0": (2, 3, 1, 1)}, False),
        ((0, 1, 0), {"Conv2D_4": (2, 2, 1, 1), "Dense_7": (3, 8)}, True),
    ],
)
def test_checkpoints_of_the_original_and_of_earlier_versions_load(
    tmp_path: Path, numbers: Any, more: dict[str, Any], of_ours: bool
) -> None:
    values = _values(numbers)
    for layer, shape in more.items():
        values[f"{layer}-weight"], values[f"{layer}-bias"] = np.zeros(shape), np.zeros(shape[0])
    job = _predict_job()
    flow.train.CheckPoint().load(_write(tmp_path / "saved", values, of_ours))
    assert job(np.ones((4, 3, 2, 2), np.float32)).get().tolist() == [[RESULT] * 3] * 4


def test_a_program_that_got_another_operation_loads_its_checkpoints(tmp_path: Path) -> None:
    job = _predict_job()
    point = flow.train.CheckPoint()
    point.init()
    expected = job(IMAGES).get()
    point.save(str(tmp_path / "saved"))
    _again()

    @flow.function(flow.FunctionConfig())
    def predict(x: Any = _input()) -> Any:  # noqa: B008
        x = flow.identity(flow.identity(flow.identity(x)))  # The first layer is Conv2D_4 now.
        return _network(x), flow.layers.dense(flow.reshape(x, (4, 12)), 2)

    point = flow.train.CheckPoint()
    with pytest.raises(CheckpointError, match="it lacks Dense_1-weight, Dense_1-bias"):
        point.load(str(tmp_path / "saved"))
    point.load(str(tmp_path / "saved"), partial=True)
    np.testing.assert_array_equal(predict(IMAGES).get()[0], expected)


def test_a_name_of_the_program_is_kept_where_a_layer_would_have_it(tmp_path: Path) -> None:
    def job() -> Any:
        @flow.function(flow.FunctionConfig())
        def predict(x: Any = _input()) -> Any:  # noqa: B008
            own = flow.get_variable("Dense_7-bias", (3,), initializer=_uniform())
            return _network(x) + own, own

        return predict

    first = job()
    point = flow.train.CheckPoint()
    point.init()
    expected = first(IMAGES).get()
    point.save(str(tmp_path / "saved"))
    saved = np.fromfile(tmp_path / "saved/Dense_7-bias/out", "<f4")
    np.testing.assert_array_equal(saved, expected[1])
    _again()
    second = job()
    flow.train.CheckPoint().load(str(tmp_path / "saved"))
    for found, value in zip(second(IMAGES).get(), expected, strict=True):
        np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff"])
def test_a_file_of_names_that_can_not_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    _predict_job()
    folder = _write(tmp_path / "saved", _values((1, 4, 7)), True)
    (tmp_path / "saved" / unnamed.FILE).write_bytes(content)
    with pytest.raises(CheckpointError, match=r"its \.names\.json can't be read .* Delete"):
        flow.train.CheckPoint().load(folder)


@pytest.mark.usefixtures("clean_settings")
def test_names_come_along_from_a_store(folder_bucket: str) -> None:
    job = _predict_job()
    point = flow.train.CheckPoint()
    point.init()
    expected = job(IMAGES).get()
    point.save(f"{folder_bucket}/saved")
    _again()

    @flow.function(flow.FunctionConfig())
    def predict(x: Any = _input()) -> Any:  # noqa: B008
        return _network(flow.identity(x))

    flow.train.CheckPoint().load(f"{folder_bucket}/saved")
    np.testing.assert_array_equal(predict(IMAGES).get(), expected)


def test_all_names_are_the_sessions_own_where_no_layer_lacks_a_name(tmp_path: Path) -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((1, 2))) -> Any:  # noqa: B008
        return flow.layers.dense(x, 2, name="Dense_3")

    point = flow.train.CheckPoint()
    point.init()
    job(np.ones((1, 2), np.float32)).get()
    point.save(str(tmp_path / "saved"))
    assert _folders(tmp_path / "saved") == {"Dense_3-weight", "Dense_3-bias"}
    assert not (tmp_path / "saved" / unnamed.FILE).exists()
    notes = json.loads((tmp_path / "saved" / "shapes.json").read_text())
    assert notes.keys() == {"Dense_3-weight", "Dense_3-bias"}
