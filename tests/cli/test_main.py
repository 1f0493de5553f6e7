"""The `mox` command: help, versions, mistakes, and that it starts without TensorFlow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import moxing
from moxing.cli import launch, run
from moxing.cli import main as command
from moxing.legacy.plain import arming
from moxing.legacy.program import launcher, own_flags


def _mox(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        code = command.main(list(arguments))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    output = capsys.readouterr()
    return code, output.out, output.err


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    code, output, error = _mox(capsys, *arguments)

    assert (code, error) == (0, "")
    assert output.startswith("usage: mox COMMAND ...\n")
    assert "run SCRIPT.py [flags]" in output
    assert "legacy on|off|status" in output


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert _mox(capsys, "--version") == (0, f"openmox {moxing.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rum",), "mox: error: there is no command 'rum'. Did you mean 'run'?\n"),
        (
            ("xyz",),
            "mox: error: there is no command 'xyz'. The commands are run, launch, export,"
            " convert, runs, compare, checkpoints, doctor, uai, legacy, port.\n",
        ),
        (
            ("train.py", "--x"),
            "mox: error: there is no command 'train.py'. To run a program: mox run train.py\n",
        ),
        (("run",), "mox: error: name the script: mox run SCRIPT.py [flags]\n"),
        (("run", ""), "mox: error: the name of the script is empty: mox run SCRIPT.py [flags]\n"),
        (
            ("run", "--num_gpus=1", "x.py"),
            "mox: error: --num_gpus=1 stands before the script: mox run SCRIPT.py --num_gpus=1"
            " ...\n",
        ),
    ],
)
def test_mistakes(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert _mox(capsys, *arguments) == (2, "", message)


@pytest.mark.parametrize("arguments", [("--foo",), ("legacy",), ("legacy", "maybe")])
def test_mistakes_that_argparse_explains(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    code, output, error = _mox(capsys, *arguments)

    assert (code, output) == (2, "")
    assert error.startswith("usage: mox")


@pytest.mark.parametrize("name", ["none.py", "folder", "data.txt"])
def test_what_cannot_be_run_is_said_before_tensorflow_is_imported(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "data.txt").touch()
    monkeypatch.setattr(own_flags, "take_runtime_flags", None)

    code, output, error = _mox(capsys, "run", name)

    assert (code, output) == (2, "")
    assert error.startswith("mox: error: ")
    assert name in error
    assert error.count("\n") == 1


def test_everything_after_the_script_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(launcher, "run", lambda *given: calls.append(given) or 5)

    assert run.main(["x.py", "--help", "--version", "-h", "--", "y"]) == 5
    assert run.main(["--face=a,b", "--face", "c", "-m", "x.y", "-m", "--face=d"]) == 5
    assert calls == [
        ("x.py", ["--help", "--version", "-h", "--", "y"], False, []),
        ("x.y", ["-m", "--face=d"], True, ["a", "b", "c"]),
    ]


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        ([], "script: mox run SCRIPT.py"),
        (["-m"], "module: mox run -m PACKAGE.MODULE"),
        (["--face=", "x.py"], "package: mox run --face=PACKAGE SCRIPT.py"),
        (["--face"], "package: mox run --face=PACKAGE SCRIPT.py"),
    ],
)
def test_what_run_lacks(
    capsys: pytest.CaptureFixture[str], arguments: list[str], want: str
) -> None:
    assert run.main(arguments) == 2
    assert capsys.readouterr().err == f"mox: error: name the {want} [flags]\n"


def test_help_of_run_lists_the_runtime_flags(capsys: pytest.CaptureFixture[str]) -> None:
    code, output, _ = _mox(capsys, "run", "--help")

    assert code == 0
    assert output.startswith("usage: mox run [options] SCRIPT.py [flags]\n")
    assert "  --num_gpus=1  (integer) " in output


def test_legacy(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arming.sysconfig, "get_path", lambda kind: str(tmp_path))
    path = tmp_path / "openmox-armed.pth"

    assert _mox(capsys, "legacy", "status") == (0, f"off: {path} is not there.\n", "")
    assert _mox(capsys, "legacy", "on")[0] == 0
    assert path.exists()
    assert _mox(capsys, "legacy", "status") == (0, f"on: {path} is there.\n", "")
    assert _mox(capsys, "legacy", "on", "--all")[0] == 0
    assert _mox(capsys, "legacy", "status")[1] == (
        f"on: {path} is there, for every program of TensorFlow 1.x.\n"
    )
    code, _, error = _mox(capsys, "legacy", "off", "--all")
    assert code == 2
    assert error.endswith(
        "error: --all belongs to `mox legacy on`; `mox legacy off` has no flags\n"
    )
    assert _mox(capsys, "legacy", "off")[0] == 0
    path.mkdir()
    code, _, error = _mox(capsys, "legacy", "off")
    assert code == 1
    assert error.startswith(f"mox: error: cannot remove {path}: ")


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["legacy", "status"]])
def test_it_starts_with_little_and_without_tensorflow(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom moxing.cli.main import main\ntry:\n    main(sys.argv[1:])\n"
        "except SystemExit:\n    pass\n"
        "assert 'tensorflow' not in sys.modules and 'numpy' not in sys.modules\n"
        "print(len(sys.modules), file=sys.stderr)"
    )
    command_line = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command_line, check=True, capture_output=True, text=True, timeout=240)

    # Now about 280. Few modules are a short start, on a busy machine too.
    assert int(done.stderr.splitlines()[-1]) < 350


def test_it_is_also_a_module(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "moxing", "--version"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        cwd=tmp_path,
    )

    assert (done.returncode, done.stdout) == (0, f"openmox {moxing.__version__}\n")


def test_ctrl_c_before_the_work_begins_is_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(launch, "main", interrupted)
    assert _mox(capsys, "launch", "train.py") == (130, "", "mox: interrupted\n")


def test_warnings_of_a_command_print_no_codes_of_names(tmp_path: Path) -> None:
    """TensorFlow's own handler would print them raw, and a forged line."""
    name = "\x1b[31;1m\r\nINFO:tensorflow:forged"
    (tmp_path / "src" / name).mkdir(parents=True)
    (tmp_path / "src" / name / f"{name}.jpg").write_bytes(b"no picture")
    words = ["convert", "src", "out", "--to=tfrecord", "--skip-bad"]
    done = subprocess.run(
        [sys.executable, "-m", "moxing", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 1
    assert "WARNING:tensorflow:skip_bad=True leaves out src/\\x1b[31;1m" in done.stderr
    assert "\x1b" not in done.stderr
    assert not [line for line in done.stderr.splitlines() if line.startswith("INFO:")]
