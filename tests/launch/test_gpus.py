"""Which GPUs the tasks of one machine may see. Files stand for the devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from moxing.errors import MoxValueError
from moxing.launch import gpus
from moxing.launch.plan import Plan
from moxing.launch.uai import Training


@pytest.fixture
def four(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nvidia0", "nvidia1", "nvidia2", "nvidia5", "nvidiactl", "nvidia-uvm", "null"):
        (tmp_path / name).touch()
    monkeypatch.setattr(gpus, "_DEVICES", tmp_path)


@pytest.fixture
def no_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "_DEVICES", tmp_path)


@pytest.mark.usefixtures("four")
@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, ["0", "1", "2", "3"]),  # CUDA counts those that are there.
        ({"CUDA_VISIBLE_DEVICES": "3, 1"}, ["3", "1"]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-7a,-1,2"}, ["GPU-7a"]),
        ({"CUDA_VISIBLE_DEVICES": ""}, []),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, []),
    ],
)
def test_present(environ: dict[str, str], found: list[str]) -> None:
    assert gpus.present(environ) == found


def seen(plan: Plan | Training, environ: dict[str, str]) -> dict[str, str | None]:
    return {
        name: start.environ.get("CUDA_VISIBLE_DEVICES")
        for name, start in plan.starts(environ).items()
    }


@pytest.mark.usefixtures("four")
@pytest.mark.parametrize(
    ("workers", "num_gpus", "shares"),
    [
        (1, None, ["0,1,2,3"]),
        (2, None, ["0,1", "2,3"]),
        (3, None, ["0", "1", "2"]),
        (2, 1, ["0", "1"]),
        (5, 0, ["-1"] * 5),
    ],
)
def test_each_worker_sees_its_own_and_a_server_none(
    workers: int, num_gpus: int | None, shares: list[str]
) -> None:
    found = seen(Plan("x.py", (), workers, 1, num_gpus), {})
    assert list(found.values()) == [*shares, "-1"]


@pytest.mark.usefixtures("four")
def test_more_than_there_are() -> None:
    with pytest.raises(MoxValueError) as caught:
        Plan("x.py", (), 3, 0, 2).starts({"CUDA_VISIBLE_DEVICES": "0,2,3"})
    assert str(caught.value) == (
        "3 workers with 2 GPUs each need 6, but this machine has 3 (0,2,3). Lower --num_gpus; 0"
        " computes on the CPU."
    )
    with pytest.raises(MoxValueError, match="5 workers with 1 GPUs each need 5"):
        Plan("x.py", (), 5).starts({})


@pytest.mark.usefixtures("no_gpu")
def test_nothing_is_set_where_there_is_no_gpu() -> None:
    assert set(seen(Plan("x.py", (), 2, 1, 2), {}).values()) == {None}


@pytest.mark.usefixtures("four")
def test_nodes_of_the_platform_too() -> None:
    here = Path("/")
    job = Training(here / "x.py", (), here, here, here, 2, 1, 2)
    assert seen(job, {}) == {"master 0": "0,1", "worker 0": "2,3", "ps 0": "-1"}
    alone = Training(here / "x.py", (), here, here, here, num_gpus=3)
    assert seen(alone, {}) == {"master 0": "0,1,2"}
