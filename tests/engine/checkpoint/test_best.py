"""The folder of the best checkpoints: ranking, removal, and kills at any moment."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moxing.engine.checkpoint import best
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.engine.job import ranking
from moxing.engine.job.ranking import Ranking
from moxing.errors import MoxValueError

MakeModel = Callable[..., Any]

# Each child is killed at another change of the disk, until one comes through.
KILLS = """
import json, os, signal, sys
from moxing.engine.checkpoint.manifest import read_extra
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.engine.checkpoint import best
from moxing.engine.job.ranking import Ranking

folder, keep = sys.argv[1], int(sys.argv[2])
ranking = Ranking("accuracy", keep=keep)

def killed_at(count):
    left = [count]
    def counted(change):
        def changed(*arguments, **keywords):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return change(*arguments, **keywords)
        return changed
    for name in ("replace", "rename", "remove", "unlink", "link", "mkdir", "rmdir"):
        setattr(os, name, counted(getattr(os, name)))

def offer():
    kept = best.BestFolder(folder, ranking)
    best.adopt(kept, os.path.join(folder, "model.ckpt-3"), 0.9)
    return kept

for count in range(200):
    os.system(f"rm -rf {folder}/best && cp -r {folder}/before {folder}/best")
    child = os.fork()
    if child == 0:
        killed_at(count)
        offer()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    found = newest(os.path.join(folder, "best"))
    seen = read_extra(found)["best"]["value"] if found else None
    kept = offer()
    steps = sorted(one.step for one in kept.kept)
    files = sorted(n for n in os.listdir(folder + "/best") if n.endswith(".index"))
    print(json.dumps([status, seen, kept.best.value, steps, len(files)]), flush=True)
    if status == 0:
        break
"""


@pytest.fixture
def commits(make_model: MakeModel, tmp_path: Path) -> Callable[[int], str]:
    """`commits(3)`: a committed checkpoint of step 3 in `tmp_path`, with the value 3."""
    model = make_model(keep=None)
    return lambda step: model.save(step, float(step)).prefix


def kept_in(tmp_path: Path) -> list[int]:
    return sorted(int(p.stem.rpartition("-")[2]) for p in (tmp_path / "best").glob("*.index"))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("accuracy", ("accuracy", "auto", 1, True)),
        ("loss", ("loss", "auto", 1, False)),
        ("loss:max", ("loss", "max", 1, True)),
        ("AUC:min:3", ("AUC", "min", 3, False)),
        ("f1_score:2", ("f1_score", "auto", 2, True)),
        ("scope:name:max", ("scope:name", "max", 1, True)),
    ],
)
def test_forms(text: str, wanted: tuple[Any, ...]) -> None:
    found = ranking.parsed(text, "keep_best")
    assert (found.metric, found.mode, found.keep, found.grows) == wanted


@pytest.mark.parametrize("text", ["", " ", ":max", "loss:", "loss:0", "loss::", None, 3, ["loss"]])
def test_forms_that_are_refused(text: Any) -> None:
    with pytest.raises(MoxValueError, match="keep_best is .*; it must be the name of a metric"):
        ranking.parsed(text, "keep_best")


def test_the_best_of_several_stay_in_any_order(
    commits: Callable[[int], str], tmp_path: Path, read_value: Callable[..., float]
) -> None:
    folder = best.BestFolder(str(tmp_path), Ranking("accuracy", keep=2))
    offered = [0.5, 0.4, 0.9, 0.45, 0.7, float("nan"), float("inf"), 0.7]
    taken = [best.adopt(folder, commits(n), value) for n, value in enumerate(offered, 1)]
    assert taken == [True, True, True, False, True, False, False, False]
    assert kept_in(tmp_path) == [3, 5]
    found = newest(tmp_path / "best")
    assert found is not None
    assert (found.step, read_value(found.prefix)) == (3, 3.0)
    # The run's own checkpoints are untouched.
    assert len(list(tmp_path.glob("model.ckpt-*.index"))) == len(offered)


def test_a_run_that_goes_on_beats_what_is_there(
    commits: Callable[[int], str], tmp_path: Path
) -> None:
    best.adopt(best.BestFolder(str(tmp_path), Ranking("loss")), commits(1), 0.5)
    folder = best.BestFolder(str(tmp_path), Ranking("loss"))
    assert not best.adopt(folder, commits(1), 0.5)  # Evaluated again, after a kill.
    assert not best.adopt(folder, commits(2), 0.6)
    assert best.adopt(folder, commits(3), 0.4)
    assert kept_in(tmp_path) == [3]


def test_a_damaged_best_is_named_and_not_used(
    commits: Callable[[int], str], tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    folder = best.BestFolder(str(tmp_path), Ranking("loss", keep=2))
    best.adopt(folder, commits(1), 0.1)
    best.adopt(folder, commits(2), 0.5)
    data = tmp_path / "best" / "model.ckpt-1.data-00000-of-00001"
    content = data.read_bytes()
    data.unlink()  # It may be a link to the run's own file.
    data.write_bytes(content[:-4])
    again = best.BestFolder(str(tmp_path), Ranking("loss", keep=2))
    assert [one.step for one in again.kept] == [2]
    assert f"{tmp_path}/best/model.ckpt-1 is damaged, and is not used: " in log.text
    assert best.adopt(again, commits(3), 0.4)
    found = newest(tmp_path / "best")
    assert found is not None
    assert found.step == 3


def test_another_metric_takes_the_place(commits: Callable[[int], str], tmp_path: Path) -> None:
    best.adopt(best.BestFolder(str(tmp_path), Ranking("loss")), commits(1), 0.1)
    folder = best.BestFolder(str(tmp_path), Ranking("accuracy"))
    assert kept_in(tmp_path) == [1]
    best.adopt(folder, commits(2), 0.1)
    assert kept_in(tmp_path) == [2]


@pytest.mark.parametrize("keep", [1, 2])
def test_a_kill_at_any_change_of_the_disk_loses_no_best(
    keep: int, commits: Callable[[int], str], tmp_path: Path
) -> None:
    folder = best.BestFolder(str(tmp_path), Ranking("accuracy", keep=keep))
    for step, value in ((1, 0.5), (2, 0.6)):
        best.adopt(folder, commits(step), value)
    commits(3)
    (tmp_path / "best").rename(tmp_path / "before")
    done = subprocess.run(
        [sys.executable, "-c", KILLS, str(tmp_path), str(keep)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rounds) > 10
    assert [one[0] for one in rounds] == [9] * (len(rounds) - 1) + [0]
    for _, seen, value, steps, files in rounds:
        assert seen in (0.6, 0.9)  # Whoever reads the folder finds a best one, before a next run.
        assert value == 0.9
        assert steps == [2, 3][-keep:]
        assert files == keep
    assert rounds[0][1] == 0.6
    assert rounds[-1][1] == 0.9
