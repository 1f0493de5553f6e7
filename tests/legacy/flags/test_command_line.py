"""Which flags are warned about, when, and in which words."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moxing.legacy.flags.command_line import CommandLine, flags_in, is_flag


def _knows(*names: str) -> object:
    return lambda name: name in names


def test_unknown_flags_are_named_once_with_near_matches(caplog: pytest.LogCaptureFixture) -> None:
    line = CommandLine(["--max_epoches=100", "--checkpoint_url=", "--x", "7", "-1"], {}, ())
    line.define(("max_epochs",))
    line.tolerate(lambda name: name == "x")

    line.warn_unknown()
    line.warn_unknown()

    assert [record.getMessage() for record in caplog.records] == [
        "ignored flags that the script does not define: --max_epoches"
        " (Did you mean 'max_epochs'?), --checkpoint_url"
    ]
    assert caplog.records[0].levelno == logging.WARNING


def test_nothing_is_said_while_no_parser_ignored_anything(
    caplog: pytest.LogCaptureFixture,
) -> None:
    CommandLine(["--anything=1"], {}, ()).warn_unknown()

    assert not caplog.records


def test_what_any_parser_took_is_known() -> None:
    line = CommandLine(["--a=1", "--b", "--c"], {}, ())
    line.take(("a",))
    line.tolerate(lambda name: name == "b")

    assert line.unknown() == ["c"]


def test_empty_values_are_noted_once(caplog: pytest.LogCaptureFixture) -> None:
    line = CommandLine([], {}, ())

    line.note_empty("data_url", "s3://bucket")
    line.note_empty("data_url", "s3://bucket")
    line.note_empty("train_url", "")

    assert [record.getMessage() for record in caplog.records] == [
        "flag data_url is empty: the script's default is not used"
    ]


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("--name", True),
        ("-name=1", True),
        ("--", False),
        ("-", False),
        ("-1", False),
        ("-.5", False),
        ("--=x", True),
        ("name", False),
        ("", False),
    ],
)
def test_what_looks_like_a_flag(argument: str, expected: bool) -> None:
    assert is_flag(argument) is expected


def test_nothing_after_a_bare_dash_dash_is_a_flag() -> None:
    assert list(flags_in(["--a=1", "x", "--b", "--", "--c"])) == [("a", "1"), ("b", None)]


@given(st.lists(st.text("-=a1 .", max_size=6)))
def test_any_command_line_can_be_looked_through(arguments: list[str]) -> None:
    line = CommandLine(arguments, {}, ())
    line.tolerate(lambda name: False)

    assert len(line.unknown()) <= len(arguments)
    line.warn_unknown()
