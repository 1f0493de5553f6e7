"""Which flags are warned about, when, and in which words."""

from __future__ import annotations

import contextlib
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moxing import flags
from moxing.errors import MoxValueError
from moxing.legacy.flags.command_line import CommandLine, flags_in, is_flag


def _knows(*names: str) -> object:
    return lambda name: name in names


def test_unknown_flags_are_named_once_with_near_matches(caplog: pytest.LogCaptureFixture) -> None:
    line = CommandLine(["--max_epoches=100", "--checkpoint_url=", "--x", "7", "-1"], {}, ())
    line.define(("max_epochs", "checkpoint_urls"))  # Platforms append --checkpoint_url.
    line.tolerate(lambda name: name == "x")

    line.warn_unknown()
    line.warn_unknown()

    assert [record.getMessage() for record in caplog.records] == [
        "ignored flags that the script does not define: --max_epoches"
        " (Did you mean 'max_epochs'?), --checkpoint_url"
    ]
    assert caplog.records[0].levelno == logging.WARNING


def _checked(given: str, *defined: str) -> CommandLine:
    line = CommandLine([f"--{given}=1"], {}, ("num_gpus", "rank"))
    line.define(defined)
    line.tolerate(lambda name: name in defined)
    line.check_unknown()
    return line


@pytest.mark.parametrize(
    ("given", "defined"),
    [
        ("stepz", "steps"),
        ("step", "steps"),
        ("stepps", "steps"),
        ("setps", "steps"),
        ("max-steps", "max_steps"),
        ("Steps", "steps"),
        ("num_gpu", "num_gpus"),
        ("num_gups", "num_gpus"),
        ("xdata_dir", "data_dir"),
    ],
)
def test_a_typo_is_refused(given: str, defined: str) -> None:
    with pytest.raises(MoxValueError) as told:
        _checked(given, defined)

    assert str(told.value) == (
        f"flag --{given} is not defined. Did you mean --{defined}? If another program reads it,"
        " put it behind a bare -- on the command line."
    )


@pytest.mark.parametrize(
    ("given", "defined"),
    [
        ("train_url", "train_dir"),
        ("conv2_size", "conv1_size"),
        ("layers2", "layers1"),
        ("lr", "l"),
        ("log_dir", "logdir"),
        ("init_method", "init_methods"),
        ("depth", "width"),
        ("steps_per_epoch", "steps"),
        ("steps", ""),
    ],
)
def test_flags_that_platforms_append_and_other_names_are_no_typos(
    given: str, defined: str, caplog: pytest.LogCaptureFixture
) -> None:
    line = _checked(given, defined)

    assert caplog.messages[0].startswith(
        f"ignored flags that the script does not define: --{given}"
    )
    line.remind()
    assert caplog.messages[1:] == [f"not used: --{given}"]


def test_a_typo_that_was_refused_is_not_said_again(caplog: pytest.LogCaptureFixture) -> None:
    line = CommandLine(["--stepz=1"], {}, ("steps",))
    line.tolerate(lambda name: False)
    with pytest.raises(MoxValueError):
        line.check_unknown()

    line.warn_unknown()
    line.remind()

    assert caplog.messages == []


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

    line.define(("a1", "a1a1"))
    assert len(line.unknown()) <= len(arguments)
    with contextlib.suppress(MoxValueError):
        line.check_unknown()
    line.warn_unknown()


@pytest.mark.parametrize(
    ("given", "defined", "job"),
    [
        ({"job_name": "census"}, ["job_name"], ""),
        ({"job_name": "worker"}, ["steps"], "worker"),
        ({"job_name": "worker", "worker_hosts": "a:1"}, ["job_name"], "worker"),
    ],
)
def test_a_job_name_without_hosts_is_the_programs_own(
    given: dict[str, str], defined: list[str], job: str
) -> None:
    with flags.overridden(**given):
        line = CommandLine([], given, flags.FLAG_NAMES)
        line.define(defined)
        assert flags.get_flag("job_name") == job
        assert line.offered == given
