"""Checkpoints in the form that OneFlow wrote them: folders, names, byte order and optimizers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import CheckpointError

# OneFlow numbers all unnamed operations of a process with one counter.
MODEL = {
    "net-conv-weight": (2, 3, 1, 1),
    "net-conv-bias": (2,),
    "net-BatchNorm_4-gamma": (2,),
    "net-BatchNorm_4-beta": (2,),
    "net-BatchNorm_4-moving_mean": (2,),
    "net-BatchNorm_4-moving_variance": (2,),
    "net-PRelu_7-alpha": (2, 1, 1),
    "net-LayerNorm_9-gamma": (8,),
    "net-LayerNorm_9-beta": (8,),
    "net-Dense_12-weight": (3, 8),
    "net-Dense_12-bias": (3,),
    "table/of-words": (5, 3),
}
COUNTER = "System-Train-TrainStep-learn"
# The numbers of this job: its input takes 0, and its layers follow one another.
OURS = {"BatchNorm_4": "BatchNorm_1", "PRelu_7": "PRelu_2", "LayerNorm_9": "LayerNorm_4"}
OURS |= {"Dense_12": "Dense_5"}
MOMENTS = {"m": False, "v": False}
POWERS = {"beta1_t": True, "beta2_t": True}
# Optimizers, their settings, and what they keep beside a variable there; True: of one element.
OPTIMIZERS: dict[str, tuple[dict[str, Any], dict[str, bool]]] = {
    "naive": ({"naive_conf": {}}, {}),
    "momentum": ({"momentum_conf": {}}, {"momentum": False}),
    "rmsprop": ({"rmsprop_conf": {}}, {}),
    "lars": ({"lars_conf": {}}, {"momentum": False}),
    "adam": ({"adam_conf": {}}, MOMENTS),
    "adam_corrected": ({"adam_conf": {"do_bias_correction": True}}, MOMENTS | POWERS),
    "lazy_adam": ({"lazy_adam_conf": {}}, MOMENTS | POWERS),
}


def _job(optimizer: str) -> Any:
    @flow.function
    def learn(x: Any = flow.FixedTensorDef((4, 3, 2, 2))) -> Any:  # noqa: B008
        flow.config.train.primary_lr(0.1)
        flow.config.train.model_update_conf(OPTIMIZERS[optimizer][0])
        with flow.deprecated.variable_scope("net"):
            x = flow.layers.conv2d(x, 2, name="conv")
            x = flow.layers.batch_normalization(x, axis=1)
            x = flow.layers.prelu(x, shared_axes=[2, 3])
            x = flow.layers.layer_norm(flow.reshape(x, (4, 8)))
            x = flow.layers.dense(x, 3)
        words = flow.get_variable("table/of-words", (5, 3), initializer=flow.ones_initializer())
        loss = flow.math.reduce_sum(flow.matmul(x, words, transpose_b=True), 1)
        flow.losses.add_loss(loss)
        return loss

    return learn


def _values(optimizer: str) -> dict[str, np.ndarray]:
    chance = np.random.default_rng(3)
    found = {name: chance.uniform(0.5, 1.5, shape) for name, shape in MODEL.items()}
    for name, shape in MODEL.items():
        if "moving" not in name:
            for slot, single in OPTIMIZERS[optimizer][1].items():
                found[f"{name}-{slot}"] = chance.uniform(0.5, 0.9, (1,) if single else shape)
    return {name: value.astype("<f4") for name, value in found.items()} | {
        COUNTER: np.array([258], "<i8")
    }


def _write(folder: Path, values: dict[str, np.ndarray]) -> None:
    for name, value in values.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "out").write_bytes(value.tobytes())
    (folder / "snapshot_done").touch()


def _ours(name: str) -> str:
    for theirs, own in OURS.items():
        name = name.replace(f"{theirs}-", f"{own}-")
    return name


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_checkpoint_loads_and_ours_is_written_alike(tmp_path: Path, optimizer: str) -> None:
    values = _values(optimizer)
    _write(tmp_path / "theirs", values)
    job = _job(optimizer)
    point = flow.train.CheckPoint()
    point.load(str(tmp_path / "theirs"))
    point.save(str(tmp_path / "ours"))

    for name, value in values.items():
        saved = tmp_path / "ours" / _ours(name) / "out"
        assert saved.read_bytes() == value.tobytes(), name
    found = {str(p.parent.relative_to(tmp_path / "ours")) for p in tmp_path.glob("ours/**/out")}
    more = found - {_ours(name) for name in values}
    assert all(name.endswith("-mean_square") for name in more)
    assert bool(more) == (optimizer == "rmsprop")
    # OneFlow reads the files of its variables, and no others.
    files = {path.name for path in (tmp_path / "ours").iterdir() if path.is_file()}
    assert files == {"snapshot_done", "shapes.json", ".digests.json", ".names.json"}
    assert (tmp_path / "ours" / "snapshot_done").stat().st_size == 0

    job(np.random.default_rng(0).normal(size=(4, 3, 2, 2)).astype(np.float32)).get()
    point.save(str(tmp_path / "next"))
    counter = (tmp_path / "next" / COUNTER / "out").read_bytes()
    assert counter == np.array([259], "<i8").tobytes()


def test_a_step_goes_on_from_the_moments_that_were_loaded(tmp_path: Path) -> None:
    momentum = np.array([0.5, -1.0], "<f4")
    values = {"w": np.array([3.0, 4.0], "<f4"), "w-momentum": momentum}
    _write(tmp_path / "theirs", values | {"System-Train-TrainStep-learn": np.array([7], "<i8")})

    @flow.function
    def learn(x: Any = flow.FixedTensorDef((1, 2))) -> Any:  # noqa: B008
        flow.config.train.primary_lr(0.5)
        flow.config.train.model_update_conf({"momentum_conf": {"beta": 0.8}})
        w = flow.get_variable("w", (2,), initializer=flow.zeros_initializer())
        loss = flow.math.reduce_sum(x * w, 1)
        flow.losses.add_loss(loss)
        return w

    point = flow.train.CheckPoint()
    point.load(str(tmp_path / "theirs"))
    x = np.array([[1.0, 2.0]], np.float32)
    learn(x).get()
    moved = 0.8 * momentum - 0.5 * x[0]
    np.testing.assert_allclose(learn(x).get(), values["w"] + moved, rtol=1e-6)


def test_other_variables_of_optimizers_must_be_there(tmp_path: Path) -> None:
    _write(tmp_path / "theirs", _values("rmsprop"))
    _job("momentum")
    with pytest.raises(CheckpointError, match="it lacks net-conv-weight-momentum"):
        flow.train.CheckPoint().load(str(tmp_path / "theirs"))
