"""`mox checkpoints` and `mox convert checkpoint`, from the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from moxing.cli import main as command


def _archive(path: Path, value: float, step: int) -> str:
    np.savez(path, w=np.full([3], value, np.float32), global_step=np.int64(step))
    return str(path)


def test_a_life_of_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = _archive(tmp_path / "1.npz", 1.0, 10), _archive(tmp_path / "2.npz", 2.0, 20)
    run, other = str(tmp_path / "run"), str(tmp_path / "other")
    (tmp_path / "run").mkdir()

    def mox(*arguments: str) -> str:
        assert command.main(list(arguments)) == 0
        return capsys.readouterr().out

    assert f"Wrote 2 variables to {run}/model.ckpt-10" in mox("convert", "checkpoint", one, run)
    mox("convert", "checkpoint", two, f"{run}/model.ckpt-20")
    mean = f"{run}/model.ckpt-30"
    mox("checkpoints", "average", f"{run}/model.ckpt-10", f"{run}/model.ckpt-20", f"--to={mean}")
    listed = mox("checkpoints", run, "--verify").splitlines()
    assert [line.split()[0] for line in listed[1:-1]] == [
        "model.ckpt-10",
        "model.ckpt-20",
        "model.ckpt-30",
    ]
    assert listed[-1] == "3 of 3 are whole."
    told = mox("checkpoints", "diff", two, mean)
    assert "norm of the change 0.866 (25.00% of the first), largest 0.5" in told
    mox("checkpoints", "copy", mean, other)
    assert mox("checkpoints", "remove", mean) == f"Removed {mean}.\n"
    assert np.load(one)["w"][0] == 1.0


def test_a_folder_is_not_removed_for_its_newest_checkpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for step in (1, 2):
        made = _archive(tmp_path / f"{step}.npz", 1.0, step)
        command.main(["convert", "checkpoint", made, f"{tmp_path}/out/model.ckpt-{step}"])
    capsys.readouterr()

    assert command.main(["checkpoints", "remove", f"{tmp_path}/out/"]) == 1

    told = capsys.readouterr().err
    assert f"{tmp_path}/out is a folder of checkpoints. Name those to remove" in told
    assert f"{tmp_path}/out/model.ckpt-1;" in told
    assert (tmp_path / "out" / "model.ckpt-2.index").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["remvoe", "a"], "there is no command 'remvoe'. Did you mean 'remove'?"),
        (["list", "a", "--verify"], "The commands are diff, average, copy, remove."),
    ],
)
def test_a_command_that_is_not_there(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["checkpoints", *arguments])

    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_a_damaged_checkpoint_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command.main(["convert", "checkpoint", _archive(tmp_path / "1.npz", 1.0, 1), f"{tmp_path}/m"])
    (tmp_path / "m.data-00000-of-00001").write_bytes(b"")

    assert command.main(["checkpoints", str(tmp_path), "--verify"]) == 1
    assert "0 of 1 are whole." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "There is no folder nowhere"),
        (["diff", "nowhere.npz", "nowhere.npz"], "nowhere.npz"),
        (["average", "x.npz", "--to=y"], "x.npz"),
        (["remove", "nowhere/model.ckpt-1"], "There is no checkpoint"),
    ],
)
def test_mistakes(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["checkpoints", *arguments]) == 1

    error = capsys.readouterr().err
    assert error.startswith("mox: error: ")
    assert words in error
    assert "Traceback" not in error


@pytest.mark.slow
def test_a_warning_about_a_name_in_a_file_steers_no_terminal(tmp_path: Path) -> None:
    name = r'"x\033[31mred\r\nINFO:tensorflow:forged"'
    (tmp_path / "checkpoint").write_text(f"model_checkpoint_path: {name}\n")
    done = subprocess.run(
        [sys.executable, "-m", "moxing", "checkpoints", "diff", str(tmp_path), str(tmp_path)],
        capture_output=True,
        timeout=120,
        check=False,
    )
    told = done.stderr.decode()
    assert done.returncode == 1
    assert "WARNING:tensorflow:Skipped: " in told
    assert "forged" in told
    assert "\x1b" not in told
    assert "\r" not in told
    assert "\nINFO:" not in told
