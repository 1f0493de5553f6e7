"""Variables split over devices: values and checkpoints of whole ones, each part in its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.engine.graph import ancestry
from moxing.errors import MoxNotSupportedError, MoxValueError
from moxing.flow.runtime import session

X = np.random.default_rng(3).normal(size=(8, 6)).astype(np.float32)
LABELS = np.array([0, 2, 1, 2, 4, 3, 0, 1], np.int32)
CLIP = {"clip_by_global_norm": {"clip_norm": 0.1}}
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "naive": {"naive_conf": {}},
    "clipped momentum": {"momentum_conf": {}, "clip_conf": CLIP},
    "rmsprop": {"rmsprop_conf": {}},
    "lars": {"lars_conf": {"lars_coefficient": 0.1}, "clip_conf": CLIP},
    "corrected adam": {"adam_conf": {"do_bias_correction": True}},
    "lazy adam": {"lazy_adam_conf": {}},
}


def _split(axis: int, parted: bool) -> Any:
    return flow.distribute.split(axis) if parted else None


def _train(optimizer: dict[str, Any], parted: bool, start: str = "") -> tuple[list[float], Any]:
    """Losses of four steps of a net whose hidden and last layer do not divide evenly."""

    @flow.function
    def job(
        x: Any = flow.FixedTensorDef(X.shape),  # noqa: B008
        y: Any = flow.FixedTensorDef((8,), flow.int32),  # noqa: B008
    ) -> Any:
        flow.config.train.primary_lr(0.05)
        flow.config.train.weight_l2(0.01)
        flow.config.train.model_update_conf(optimizer)
        init = flow.random_normal_initializer(0, 0.5)
        # Columns that are split, rows that are split, and a split that no product can use.
        first = flow.get_variable(
            "first", (6, 7), initializer=init, random_seed=1, distribute=_split(1, parted)
        )
        rows = flow.get_variable(
            "rows", (7, 7), initializer=init, random_seed=2, distribute=_split(0, parted)
        )
        x = flow.matmul(flow.math.tanh(flow.matmul(x, first)), rows)
        x = flow.layers.dense(
            x, 5, kernel_initializer=init, name="fc", model_distribute=_split(0, parted)
        )
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(y, x)
        flow.losses.add_loss(loss)
        return loss

    point = flow.train.CheckPoint()
    point.load(start) if start else point.init()
    return [float(job(X, LABELS).get().mean()) for _ in range(4)], point


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_training_and_checkpoints_are_those_of_whole_variables(
    kind: str, devices: Callable[[int], None], tmp_path: Path
) -> None:
    devices(1)
    _, point = _train(OPTIMIZERS[kind], False)
    point.save(str(tmp_path / "start"))
    runs, count = {}, 4 if kind == "lars" else 2  # Parts of one and of two elements.
    for name, parted in (("whole", False), ("split", True)):
        devices(count)
        runs[name], point = _train(OPTIMIZERS[kind], parted, str(tmp_path / "start"))
        point.save(str(tmp_path / name))

    files = sorted(path.name for path in (tmp_path / "whole").iterdir() if path.is_dir())
    np.testing.assert_allclose(runs["split"], runs["whole"], rtol=1e-5)
    assert sorted(path.name for path in (tmp_path / "split").iterdir() if path.is_dir()) == files
    for file in files:
        dtype = np.int64 if file.startswith("System") else np.float32
        found, wanted = (
            np.fromfile(tmp_path / name / file / "out", dtype) for name in ("split", "whole")
        )
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_first_values_with_a_seed_are_those_of_the_whole(devices: Callable[[int], None]) -> None:
    found = []
    for count in (1, 2):
        devices(count)

        @flow.function
        def job() -> Any:
            init = flow.random_normal_initializer()
            return flow.get_variable(
                "w", (5, 3), initializer=init, random_seed=4, distribute=flow.distribute.split(0)
            )

        flow.train.CheckPoint().init()
        found.append(job().get().ndarray())
    assert found[0].std() > 0
    np.testing.assert_array_equal(*found)


def test_each_device_has_its_part_and_computes_with_it(devices: Callable[[int], None]) -> None:
    devices(2)

    @flow.function
    def job(
        x: Any = flow.FixedTensorDef(X.shape),  # noqa: B008
        y: Any = flow.FixedTensorDef((8,), flow.int32),  # noqa: B008
    ) -> Any:
        flow.config.train.primary_lr(0.05)
        flow.config.train.model_update_conf({"momentum_conf": {}})
        split = flow.distribute.split(0)
        x = flow.layers.dense(x, 5, use_bias=False, name="fc", model_distribute=split)
        flow.losses.add_loss(flow.nn.sparse_softmax_cross_entropy_with_logits(y, x))

    flow.train.CheckPoint().init()
    job(X, LABELS)

    by_name = session.default().variables.by_name
    both = ["/device:CPU:0", "/device:CPU:1"]
    for name in ("fc-weight", "fc-weight-momentum"):
        assert [part.device for part in by_name[name].parts] == both
        assert [part.shape.as_list() for part in by_name[name].parts] == [[3, 6], [2, 6]]
    train = session.default()._built["job"].train
    assert train is not None
    step = list(ancestry.behind([train]))
    for kind in ("MatMul", "ResourceApplyKerasMomentum"):
        assert sorted({op.device for op in step if op.type == kind}) == both
    # No device holds the whole, nor its gradient.
    shapes = [out.shape.as_list() for op in step for out in op.outputs if out.shape.rank]
    assert [3, 6] in shapes
    assert [5, 6] not in shapes


def test_what_can_t_be_split_or_watched_is_an_error(devices: Callable[[int], None]) -> None:
    devices(4)

    @flow.function
    def few() -> Any:
        ones, split = flow.ones_initializer(), flow.distribute.split(0)
        return flow.get_variable("w", (3, 9), initializer=ones, distribute=split)

    with pytest.raises(MoxValueError) as error:
        few()
    assert str(error.value) == (
        "variable 'w' of shape (3, 9) can't be split along axis 0 over 4 devices: each needs one"
        " element of it at least."
    )
    devices(2)

    @flow.function
    def watched() -> Any:
        flow.config.train.primary_lr(0.05)
        flow.config.train.model_update_conf({"naive_conf": {}})
        ones, split = flow.ones_initializer(), flow.distribute.split(0)
        w = flow.get_variable("w", (4,), initializer=ones, distribute=split)
        flow.watch_diff(w)
        flow.losses.add_loss(w * 1.0)

    with pytest.raises(
        MoxNotSupportedError, match="watch_diff sees no gradient of a variable with"
    ):
        flow.train.CheckPoint().init()
