"""argparse programs: runtime flags come back, platform flags are ignored, errors stay errors."""

from __future__ import annotations

import argparse
import sys
import types
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moxing.errors import MoxValueError
from moxing.legacy.flags import argparse_face
from moxing.legacy.flags.command_line import CommandLine

Install = Callable[..., CommandLine]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a command line in place and changes argparse for one test."""
    real = argparse.ArgumentParser

    def install(arguments: list[str], users: bool = True, **given: str) -> CommandLine:
        # A test may install more than once, each time over the real functions.
        monkeypatch.undo()
        monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
        for name in ("parse_known_args", "parse_args"):
            monkeypatch.setattr(real, name, getattr(real, name))
        line = CommandLine(arguments, given, given)

        def is_users(frame: types.FrameType) -> bool:
            return users and frame.f_code.co_filename == __file__

        argparse_face.install(line, is_users)
        return line

    return install


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_url", default="s3://bucket")
    parser.add_argument("--n", type=int, default=1)
    return parser


def test_a_typo_is_refused(install: Install) -> None:
    install(["--n=3", "--date_url=5"])

    with pytest.raises(MoxValueError, match="--date_url is not defined. Did you mean --data_url?"):
        _parser().parse_args()


def test_unknown_platform_flags_are_ignored_with_a_warning(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    install(["--n=3", "--train_url", "x", "--date_uri=5", "--checkpoint_url="])

    values = _parser().parse_args()

    assert values.n == 3
    assert [record.getMessage() for record in caplog.records] == [
        "ignored flags that the script does not define: --train_url, --date_uri"
        " (Did you mean 'data_url'?), --checkpoint_url"
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["word"], "unrecognized arguments: word"),
        (["--foo=1", "word"], "unrecognized arguments: --foo=1 word"),
        (["--foo", "1", "2"], "unrecognized arguments: --foo 1 2"),
        (["-f"], "unrecognized arguments: -f"),
        (["--n=x"], "argument --n: invalid int value: 'x'"),
        (["--n"], "argument --n: expected one argument"),
        (["--n="], "argument --n: invalid int value: ''"),
    ],
)
def test_other_errors_stay_argparses_own(
    install: Install, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    install(arguments)

    with pytest.raises(SystemExit) as raised:
        _parser().parse_args()

    assert raised.value.code == 2
    assert message in capsys.readouterr().err


def test_parsers_of_libraries_are_strict(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(["--foo=1"], users=False)

    with pytest.raises(SystemExit):
        _parser().parse_args()

    assert "unrecognized arguments: --foo=1" in capsys.readouterr().err


def test_runtime_flags_come_back_to_a_parser_that_defines_them(install: Install) -> None:
    install(["--n=2"], num_gpus="4", sync_replicas="true", seed="7")
    parser = _parser()
    parser.add_argument("--num_gpus", type=int, default=1)
    parser.add_argument("--sync_replicas", action="store_true")

    assert vars(parser.parse_args()) == {
        **{"data_url": "s3://bucket", "n": 2, "num_gpus": 4, "sync_replicas": True}
    }
    known, rest = parser.parse_known_args()
    assert (known.num_gpus, rest) == (4, [])
    assert parser.parse_args(sys.argv[1:]).num_gpus == 4
    assert parser.parse_args(["--n=5"]).num_gpus == 1


def test_switches_that_are_off_come_back_as_far_as_a_parser_can_say_so(install: Install) -> None:
    install([], sync_replicas="false", log_first_clone="false")
    parser = argparse.ArgumentParser()
    parser.add_argument("--sync_replicas", action="store_true")
    parser.add_argument("--log_first_clone", action=argparse.BooleanOptionalAction, default=True)

    values = parser.parse_args()

    assert (values.sync_replicas, values.log_first_clone) == (False, False)


def test_runtime_flags_come_back_to_subcommands(install: Install) -> None:
    install(["train", "--n=2"], num_gpus="4")
    parser = argparse.ArgumentParser()
    child = parser.add_subparsers(dest="what").add_parser("train")
    child.add_argument("--num_gpus", type=int)
    child.add_argument("--n", type=int)

    values = parser.parse_args()

    assert (values.what, values.num_gpus, values.n) == ("train", 4, 2)


def test_abbreviated_options_are_known(install: Install, caplog: pytest.LogCaptureFixture) -> None:
    line = install(["--data=x", "--other"])

    assert _parser().parse_args().data_url == "x"
    assert line.unknown() == ["other"]


def test_empty_values_are_noted(install: Install, caplog: pytest.LogCaptureFixture) -> None:
    install(["--data_url="])

    assert _parser().parse_args().data_url == ""
    assert [record.getMessage() for record in caplog.records] == [
        "flag data_url is empty: the script's default is not used"
    ]


def test_subclasses_may_call_their_base(install: Install) -> None:
    install(["--foo=1"])

    class Parser(argparse.ArgumentParser):
        def parse_args(self, *args: object, **kwargs: object) -> argparse.Namespace:  # type: ignore[override]
            return super().parse_args(*args, **kwargs)  # type: ignore[call-overload]

    assert vars(Parser().parse_args()) == {}


TOKENS = st.sampled_from(
    ["--n=1", "--n", "--n=x", "--n=", "--foo", "--foo=1", "--", "-", "", "-x", "w", "--data_url="]
    + ["--d=1", "--=", "-1", "--n 1", "--help", "---", "--num_gpus"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(st.lists(TOKENS, max_size=5))
def test_every_command_line_is_read_or_refused(install: Install, arguments: list[str]) -> None:
    install(arguments, num_gpus="2")
    try:
        ended, values = None, _parser().parse_args()
    except SystemExit as end:
        ended, values = end.code, argparse.Namespace(n=0)
    except MoxValueError:  # A typo, whose message another test compares.
        ended, values = 2, argparse.Namespace(n=0)
    assert ended in (None, 0, 2)
    assert isinstance(values.n, int)
