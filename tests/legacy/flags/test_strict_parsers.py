"""Errors of argparse and absl say where a flag stands, and what it may mean."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest
from absl import flags as absl_flags

from moxing.flags import origins
from moxing.legacy.flags import strict_parsers


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(argparse.ArgumentParser, "error", argparse.ArgumentParser.error)
    monkeypatch.setattr(absl_flags.FlagValues, "__call__", absl_flags.FlagValues.__call__)
    for _ in range(2):  # Messages say a thing once, though the parsers were changed before.
        strict_parsers.install()
    yield
    origins.forget()


def _parse(*arguments: str) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int)
    parser.parse_args(arguments)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--stepz=5"], "unrecognized arguments: --stepz=5. Did you mean 'steps'?"),
        (["--num_gpu=2"], "unrecognized arguments: --num_gpu=2. Did you mean 'num_gpus'?"),
        (["--colour=2"], "unrecognized arguments: --colour=2\n"),
        (["--steps=x"], "argument --steps: invalid int value: 'x'\n"),
    ],
)
def test_argparse(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        _parse(*arguments)

    assert told in capsys.readouterr().err


def test_files_of_flags(capsys: pytest.CaptureFixture[str]) -> None:
    origins.note("run.yaml", ["--stepz=5", "--steps=x"])
    values = absl_flags.FlagValues()
    absl_flags.DEFINE_integer("steps", 1, "", flag_values=values)

    with pytest.raises(SystemExit):
        _parse("--steps=x")
    assert "(--steps stands in run.yaml)" in capsys.readouterr().err
    with pytest.raises(absl_flags.UnrecognizedFlagError, match="^run.yaml: Unknown .*'stepz'"):
        values(["a.py", "--stepz=5"])
    with pytest.raises(absl_flags.IllegalFlagValueError, match=r"\(--steps stands in run.yaml\)"):
        values(["a.py", "--steps=x"])
