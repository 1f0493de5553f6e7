"""`tf.app.run`."""

from __future__ import annotations

import logging
import sys
import types
from typing import Any

import pytest
from absl import flags as absl_flags

from moxing.errors import MoxAttributeError
from moxing.legacy.flags import app
from moxing.legacy.flags.command_line import CommandLine
from moxing.legacy.flags.tolerant_flags import TolerantFlags


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    arguments = ["--n=2", "--foo=1", "word"]
    monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
    base = absl_flags.FlagValues()
    line = CommandLine(arguments, {}, ())
    flags = TolerantFlags(line, base)
    absl_flags.DEFINE_integer("n", 1, "", flag_values=flags)
    return app.runner(flags, line)


def _main_taking(kind: str, seen: list[Any]) -> Any:
    def one(argv: list[str]) -> Any:
        return seen.append(argv)

    def many(*args: Any) -> Any:
        return seen.extend(args)

    def anything(*args: Any, **kwargs: Any) -> Any:
        return seen.extend([*args, *kwargs])

    return {"one": one, "many": many, "anything": anything}[kind]


@pytest.mark.parametrize("kind", ["one", "many", "anything"])
def test_main_gets_what_no_flag_took(run: Any, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Any] = []

    with pytest.raises(SystemExit) as raised:
        run(main=_main_taking(kind, seen))

    assert raised.value.code is None
    assert seen == [["train.py", "--foo=1", "word"]]
    assert [record.getMessage() for record in caplog.records] == [
        "ignored flags that the script does not define: --foo"
    ]


def test_main_of_the_main_program_and_its_exit_code(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)

    with pytest.raises(MoxAttributeError) as missing:
        run()
    main.main = lambda _: 3  # type: ignore[attr-defined]
    with pytest.raises(SystemExit) as raised:
        run()

    assert str(missing.value) == (
        "tf.app.run() calls main(argv), but train.py has no function main."
    )
    assert raised.value.code == 3


def test_other_results_of_main_are_no_failure(run: Any) -> None:
    with pytest.raises(SystemExit) as raised:
        run(main=lambda _: object())

    assert raised.value.code is None


def test_a_command_line_may_be_given(run: Any) -> None:
    seen: list[Any] = []

    with pytest.raises(SystemExit):
        run(main=seen.append, argv=["train.py", "--n=5", "left"])

    assert seen == [["train.py", "left"]]


def test_flags_of_a_main_that_parses_itself_are_not_ignored(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    arguments = ["--phase=test", "--fooo=1"]
    monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
    line = CommandLine(arguments, {}, ())
    flags = TolerantFlags(line, absl_flags.FlagValues())
    program: dict[str, Any] = {"line": line, "seen": []}
    source = "import argparse\ndef main(_):\n    line.take(['phase'])\n    line.check_unknown()"
    exec(source, program)

    with pytest.raises(SystemExit):
        app.runner(flags, line)(main=program["main"])

    assert [record.getMessage() for record in caplog.records] == [
        "ignored flags that the script does not define: --fooo"
    ]


@pytest.mark.parametrize(
    ("before", "silent", "shown"),
    [(logging.NOTSET, "", logging.INFO), (logging.NOTSET, "1", 0), (logging.ERROR, "", 40)],
)
def test_log_lines_are_shown_from_info_on_as_in_1_15(
    run: Any, monkeypatch: pytest.MonkeyPatch, before: int, silent: str, shown: int
) -> None:
    logger = logging.getLogger("tensorflow")
    monkeypatch.setenv("MOX_SILENT_MODE", silent)
    old = logger.level
    logger.setLevel(before)
    try:
        with pytest.raises(SystemExit):
            run(lambda argv: None)
        assert logger.level == shown
    finally:
        logger.setLevel(old)
