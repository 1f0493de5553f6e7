"""`tf.flags` as TensorFlow 1.4 had it: read at any time, tolerant, and clear about bad values."""

from __future__ import annotations

import copy
import json
import pickle
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags
from hypothesis import given
from hypothesis import strategies as st

from moxing.errors import MoxAttributeError, MoxError, MoxValueError
from moxing.legacy.flags import flags_face
from moxing.legacy.flags.command_line import CommandLine
from moxing.legacy.flags.tolerant_flags import TolerantFlags

Make = Callable[..., Any]


def _tf_flags(
    arguments: list[str], given: Mapping[str, str] | None = None, base: Any = None
) -> Any:
    """A module-like `tf.flags` over flags of its own, for a command line."""
    sys.argv = ["train.py", *arguments]
    line = CommandLine(arguments, given or {}, given or {})
    values = TolerantFlags(line, base if base is not None else absl_flags.FlagValues())
    names = {name: make() for name, make in flags_face.names(values).items()}
    return SimpleNamespace(line=line, **names)


@pytest.fixture
def tf_flags(monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setattr(sys, "argv", ["train.py"])
    return _tf_flags


def test_flags_are_read_as_soon_as_they_are_defined(tf_flags: Make) -> None:
    flags = tf_flags(["--url=s3://x", "--n", "3", "pos", "-rate=0.5", "--nodebug", "--fast"])

    flags.DEFINE_string("url", "/tmp", "where")
    assert flags.FLAGS.url == "s3://x"
    flags.DEFINE_integer("n", 1, "count")
    flags.DEFINE_float("rate", 1.0, "rate")
    flags.DEFINE_boolean("debug", True, "")
    flags.DEFINE_bool("fast", False, "")
    flags.DEFINE_string("other", None, "")

    read = flags.FLAGS
    assert (read.n, read.rate, read.debug, read.fast, read.other) == (3, 0.5, False, True, None)


def test_old_and_new_argument_names(tf_flags: Make) -> None:
    flags = tf_flags([])

    flags.DEFINE_string(flag_name="a", default_value="1", docstring="help")
    flags.DEFINE_string(name="b", default="2", help=None)
    flags.DEFINE_string("c", "3", docstring="help")
    flags.DEFINE_list("d", "x,y", "a list")
    flags.DEFINE_enum("e", "one", ["one", "two"], "an enum")
    holder = flags.DEFINE_multi_integer("f", [1], "many")
    flags.DEFINE_integer("steps", 1e5, "a whole number")
    flags.DEFINE_integer(name="more", default=2.0, help="")

    values = flags.FLAGS.flag_values_dict()
    assert values == {
        **{"a": "1", "b": "2", "c": "3", "d": ["x", "y"], "e": "one", "f": [1]},
        **{"steps": 100000, "more": 2},
    }
    assert holder.value == [1]


def test_boolean_flags_take_a_following_word_as_before_tensorflow_1_5(tf_flags: Make) -> None:
    flags = tf_flags(["--train", "False", "--test", "True", "--debug", "word"])
    for name in ("train", "test", "debug"):
        flags.DEFINE_boolean(name, None, "")

    assert (flags.FLAGS.train, flags.FLAGS.test, flags.FLAGS.debug) == (False, True, True)
    assert flags.FLAGS(sys.argv) == ["train.py", "word"]


def test_repeated_flags_and_multi_flags(tf_flags: Make) -> None:
    flags = tf_flags(["--n=1", "--n=2", "--m=1", "--m=2"])
    flags.DEFINE_integer("n", 0, "")
    flags.DEFINE_multi_integer("m", None, "")

    flags.FLAGS(sys.argv)

    assert flags.FLAGS.n == 2
    assert flags.FLAGS.m == [1, 2]
    assert flags.FLAGS(["p", "--m=7"]) == ["p"]
    assert flags.FLAGS.m == [7]


@pytest.mark.parametrize(
    ("define", "argument", "message"),
    [
        ("integer", "--f=abc", "flag --f=abc: expected an integer, got 'abc'."),
        ("integer", "--f=1.5", "flag --f=1.5: expected an integer, got '1.5'."),
        ("float", "--f=x", "flag --f=x: expected a number, got 'x'."),
        ("boolean", "--f=maybe", "flag --f=maybe: expected true or false, got 'maybe'."),
        ("integer", "--f", "flag --f needs a value: --f=VALUE."),
        (
            "integer",
            "--f=",
            "flag --f=: expected an integer, got ''. Leave the flag out to use the script's"
            " default None.",
        ),
    ],
)
def test_bad_values_name_flag_value_and_type(
    tf_flags: Make, define: str, argument: str, message: str
) -> None:
    flags = tf_flags([argument])

    with pytest.raises(MoxValueError) as raised:
        getattr(flags, f"DEFINE_{define}")("f", None, "")

    assert str(raised.value) == message


def test_bad_enum_values_name_the_choices(tf_flags: Make) -> None:
    flags = tf_flags(["--mode=test"])

    with pytest.raises(MoxValueError) as raised:
        flags.DEFINE_enum("mode", "train", ["train", "eval"], "")

    assert str(raised.value) == "flag --mode=test: expected one of train, eval, got 'test'."


def test_a_default_of_the_wrong_type_is_named(tf_flags: Make) -> None:
    with pytest.raises(MoxValueError, match="the default does not fit: flag --n=abc"):
        tf_flags([]).DEFINE_integer("n", "abc", "")


def test_defaults_of_other_types_are_kept_as_before_tensorflow_1_5(tf_flags: Make) -> None:
    flags = tf_flags(["--given", "7", "--path=here"])
    flags.DEFINE_integer("train_size", float("inf"), "as many as there are")
    flags.DEFINE_integer("given", np.inf, "")
    flags.DEFINE_integer(name="part", default=0.5, help="")
    flags.DEFINE_float("sizes", [1, 2], "")
    flags.DEFINE_string("number", 3, "")
    flags.DEFINE_string("path", ("a", "b"), "")
    flags.DEFINE_boolean("deep", [3], "")

    values = flags.FLAGS.flag_values_dict()
    assert values == {
        **{"train_size": float("inf"), "given": 7, "part": 0.5, "sizes": [1, 2]},
        **{"number": 3, "path": "here", "deep": [3]},
    }
    assert min(12, flags.FLAGS.train_size) == 12
    flags.FLAGS(["train.py", "--part=2"])
    assert flags.FLAGS.part == 2


def test_a_missing_value_is_not_taken_from_the_next_flag(tf_flags: Make) -> None:
    flags = tf_flags(["--url", "--n=3"])

    with pytest.raises(MoxValueError, match="flag --url needs a value: --url=VALUE."):
        flags.DEFINE_string("url", "", "")


def test_negative_numbers_are_values(tf_flags: Make) -> None:
    flags = tf_flags(["--n", "-3", "--rate", "-.5"])
    flags.DEFINE_integer("n", 0, "")
    flags.DEFINE_float("rate", 0.0, "")

    assert (flags.FLAGS.n, flags.FLAGS.rate) == (-3, -0.5)


def test_the_same_definition_twice_is_fine_and_keeps_the_value(tf_flags: Make) -> None:
    flags = tf_flags(["--n=3"])
    flags.DEFINE_integer("n", 1, "help")
    flags.FLAGS.n = 5

    flags.DEFINE_integer("n", 1, "other help")

    assert flags.FLAGS.n == 5
    assert not flags.FLAGS["n"].using_default_value


def test_another_definition_of_the_same_flag_names_both_places(tf_flags: Make) -> None:
    flags = tf_flags([])
    flags.DEFINE_integer("n", 1, "help")

    with pytest.raises(MoxValueError) as raised:
        flags.DEFINE_integer("n", 2, "help")

    lines = [f"{__file__}:{number}" for number in range(1, 400) if f":{number}, " in str(raised)]
    assert str(raised.value).startswith(
        f"flag 'n' is defined twice: with the default 1 at {__file__}:"
    )
    assert str(raised.value).endswith("Rename one.")
    assert len(lines) <= 1


def test_flags_of_libraries_give_way(tf_flags: Make) -> None:
    base = absl_flags.FlagValues()
    absl_flags.DEFINE_integer("verbosity", -1, "a library's", short_name="v", flag_values=base)
    flags = tf_flags(["--verbosity=high"], base=base)

    flags.DEFINE_string("verbosity", "low", "the program's")

    assert flags.FLAGS.verbosity == "high"


def test_flags_of_libraries_are_read_when_accessed(tf_flags: Make) -> None:
    base = absl_flags.FlagValues()
    absl_flags.DEFINE_integer("level", -1, "a library's", flag_values=base)
    flags = tf_flags(["--level=2"], base=base)

    assert flags.FLAGS.level == 2
    assert flags.line.unknown() == ["level"]  # No parser of the program was tolerant yet.


def test_runtime_flags_that_the_program_defines_get_their_value(tf_flags: Make) -> None:
    base = absl_flags.FlagValues()
    absl_flags.DEFINE_integer("num_gpus", 4, "openmox's", flag_values=base)
    flags = tf_flags([], given={"num_gpus": "4"}, base=base)

    flags.DEFINE_string("num_gpus", "1", "the program's")

    assert flags.FLAGS.num_gpus == "4"
    assert flags.FLAGS["num_gpus"].present


def test_unknown_flags_are_left_alone(tf_flags: Make, caplog: pytest.LogCaptureFixture) -> None:
    flags = tf_flags(["--foo=1", "--bar", "value", "--n=2"])
    flags.DEFINE_integer("n", 1, "")

    assert flags.FLAGS.n == 2
    assert flags.FLAGS(sys.argv) == ["train.py", "--foo=1", "--bar", "value"]
    flags.line.warn_unknown()
    assert [record.getMessage() for record in caplog.records] == [
        "ignored flags that the script does not define: --foo, --bar"
    ]


def test_undefined_flags_are_attribute_errors_with_near_matches(tf_flags: Make) -> None:
    flags = tf_flags([])
    flags.DEFINE_integer("batch_size", 1, "")

    with pytest.raises(MoxAttributeError) as read:
        _ = flags.FLAGS.bach_size

    assert str(read.value) == "flag 'bach_size' is not defined. Did you mean 'batch_size'?"
    assert not hasattr(flags.FLAGS, "nothing")
    assert not hasattr(flags.FLAGS, "__nothing__")
    assert getattr(flags.FLAGS, "nothing", 3) == 3


def test_idioms_of_tensorflow_1(tf_flags: Make) -> None:
    flags = tf_flags(["--n=2", "rest"])
    flags.DEFINE_integer("n", 1, "")

    assert flags.FLAGS._parse_flags() == ["rest"]
    assert flags.FLAGS.__dict__["__flags"]["n"].value == 2
    assert {name: flags.FLAGS[name].value for name in flags.FLAGS} == {"n": 2}
    assert "n" in flags.FLAGS
    assert "m" not in flags.FLAGS
    flags.FLAGS.n = 9
    assert flags.FLAGS.n == 9
    flags.FLAGS(sys.argv)
    assert flags.FLAGS.n == 9  # The command line has not changed since it was read.
    del flags.FLAGS.n
    assert not hasattr(flags.FLAGS, "n")


def test_validators_and_required_flags(tf_flags: Make) -> None:
    flags = tf_flags(["--n=20", "--even=3"])
    flags.DEFINE_string("url", None, "", required=True)
    flags.DEFINE_integer("even", 2, "")
    absl_flags.register_validator(
        "even", lambda value: value % 2 == 0, "must be even", flag_values=flags.FLAGS
    )

    with pytest.raises(MoxValueError, match="--n=20: expected integer <= 10, got '20'."):
        flags.DEFINE_integer("n", 1, "", upper_bound=10)
    with pytest.raises(MoxValueError, match="flag --even=3: must be even"):
        _ = flags.FLAGS.even
    with pytest.raises(MoxValueError, match="--url must have a value other than None"):
        flags.FLAGS(["train.py", "--n=2"])


def test_empty_values_arrive_and_are_noted(
    tf_flags: Make, caplog: pytest.LogCaptureFixture
) -> None:
    flags = tf_flags(["--data_url=", "--train_url="])
    flags.DEFINE_string("data_url", "s3://bucket", "")
    flags.DEFINE_string("train_url", "", "")

    assert flags.FLAGS.data_url == ""
    assert [record.getMessage() for record in caplog.records] == [
        "flag data_url is empty: the script's default is not used"
    ]


def test_help_lists_the_programs_flags_and_ends_it(
    tf_flags: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = tf_flags(["--help"])
    flags.DEFINE_string("data_url", "x", "where the data is")

    with pytest.raises(SystemExit) as raised:
        _ = flags.FLAGS.data_url

    assert raised.value.code == 0
    output = capsys.readouterr().out
    assert output.startswith("usage: train.py [flags]")
    assert flags.line.unknown() == []


def test_a_programs_own_help_flag_is_its_own(tf_flags: Make) -> None:
    flags = tf_flags(["--help=me"])
    flags.DEFINE_string("help", "x", "")

    assert flags.FLAGS.help == "me"


TOKENS = st.sampled_from(
    ["--n=1", "--n", "--n=", "--n=x", "-n", "-n=2", "--s", "--s=", "--s=--n", "--b", "--nob"]
    + ["--b=x", "--nob=1", "--nos", "--m=1", "--m", "--", "-", "", "--=", "---", "--no", "-1"]
    + ["x", "--unknown", "--unknown=é", "--e=a", "--e=c", "--n=1e3", "--n=99999999999999999999"]
)


@given(st.lists(TOKENS, max_size=6))
def test_every_command_line_is_read_or_explained(arguments: list[str]) -> None:
    flags = _tf_flags(arguments)
    said, rest, read = "flag --", ["train.py"], (0, "", False, [], "")
    try:
        flags.DEFINE_integer("n", 1, "")
        flags.DEFINE_string("s", "x", "")
        flags.DEFINE_boolean("b", False, "")
        flags.DEFINE_multi_integer("m", [1], "")
        flags.DEFINE_enum("e", "a", ["a", "b"], "")
        rest = flags.FLAGS(sys.argv)
        read = (flags.FLAGS.n, flags.FLAGS.s, flags.FLAGS.b, flags.FLAGS.m, flags.FLAGS.e)
    except MoxError as error:
        said = str(error)
    assert said.startswith("flag --")
    assert rest[0] == "train.py"
    assert set(rest[1:]) <= set(arguments)
    assert [type(value) for value in read] == [int, str, bool, list, str]


def test_a_program_may_assign_flags_that_it_does_not_define(
    tf_flags: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = tf_flags([])
    flags.DEFINE_integer("batch_size", 1, "")

    flags.FLAGS.words = ["a"]
    flags.FLAGS.batchsize = 3

    assert (flags.FLAGS.words, flags.FLAGS.batchsize, flags.FLAGS.batch_size) == (["a"], 3, 1)
    flags.FLAGS.words = None
    assert flags.FLAGS.words is None
    assert "words" in flags.FLAGS
    told = capsys.readouterr().err
    assert "sets the flag 'batchsize', which is not defined. Did you mean 'batch_size'?" in told
    assert "words" not in told
    flags.DEFINE_string("words", "x", "")
    assert flags.FLAGS.words == "x"


def _program(flags: Any, text: str, path: Path) -> dict[str, Any]:
    """What a program leaves in its names; its text is in a file."""
    path.write_text(textwrap.dedent(text))
    values: dict[str, Any] = {"FLAGS": flags.FLAGS}
    exec(compile(path.read_text(), str(path), "exec"), values)
    return values


@pytest.fixture
def four(tf_flags: Make) -> Any:
    flags = tf_flags(["--n=3"])
    flags.DEFINE_integer("n", 1, "")
    flags.DEFINE_float("rate", 0.5, "")
    flags.DEFINE_boolean("fast", False, "")
    flags.DEFINE_string("where", None, "")
    return flags


def test_all_flags_are_values_to_programs_of_before_1_5(four: Any, tmp_path: Path) -> None:
    values = _program(
        four,
        """
        from collections import namedtuple
        def hyper(shape):
            chosen = {}
            for key, val in sorted(FLAGS.__flags.items()):
                if key in ('n', 'fast'):
                    chosen[key] = val
            return namedtuple('HParams', chosen)(**chosen), shape.value
        config = dict(FLAGS.__flags)
        FLAGS.__flags['n'] = 4
        n = FLAGS.n
        """,
        tmp_path / "old.py",
    )
    assert values["config"] == {"n": 3, "rate": 0.5, "fast": False, "where": None}
    made, _ = values["hyper"](SimpleNamespace(value=1))
    assert made == (False, 4)
    assert values["n"] == 4


def test_all_flags_are_objects_to_programs_that_read_their_values(
    four: Any, tmp_path: Path
) -> None:
    values = _program(
        four,
        """
        read = {}
        for key, flag in FLAGS.__flags.items():
            read[key] = flag.value
        def given():
            flags = FLAGS.__flags
            return sorted(key for key in flags if flags[key].present)
        """,
        tmp_path / "new.py",
    )
    assert {"n": 3, "rate": 0.5, "fast": False, "where": None}.items() <= values["read"].items()
    assert values["given"]() == ["n"]


def test_all_flags_are_the_same_as_an_item_of_the_attributes(four: Any, tmp_path: Path) -> None:
    old = _program(
        four,
        """
        class Config:
            n, rate = 0, 0.0
        def fill(flags):
            for key, given in flags.__dict__['__flags'].items():
                if hasattr(Config, key):
                    setattr(Config, key, given)
            return Config
        fill(FLAGS)
        FLAGS.__dict__["__flags"]['n'] = 8
        n = FLAGS.n
        """,
        tmp_path / "old_dict.py",
    )
    assert (old["Config"].n, old["Config"].rate, old["n"]) == (3, 0.5, 8)
    new = _program(
        four,
        """
        names = sorted(key for key in vars(FLAGS)['__flags'] if key in ('n', 'rate'))
        def show():
            for key, flag in FLAGS.__dict__['__flags'].items():
                yield key, flag.value
        """,
        tmp_path / "new_dict.py",
    )
    assert new["names"] == ["n", "rate"]
    assert dict(new["show"]())["n"] == 8


def test_other_attributes_of_the_flags_are_those_of_absl(four: Any) -> None:
    held = four.FLAGS.__dict__
    held["mine"] = 5
    assert four.FLAGS.__dict__["mine"] == 5


def test_an_integer_default_of_a_float_flag_can_be_a_size(tf_flags: Make) -> None:
    flags = tf_flags(["--given=4"])
    flags.DEFINE_float("batch", 3, "")
    flags.DEFINE_float("rate", 0.5, "")
    flags.DEFINE_float("given", 2, "")
    flags.DEFINE_float("none", None, "")
    read: Any = flags.FLAGS
    items = list(range(10))

    assert type(read.batch).__mro__[1] is float
    assert [items[i * read.batch : (i + 1) * read.batch] for i in (1, 2)] == [[3, 4, 5], [6, 7, 8]]
    assert items[: 2 + read.batch - 1] == [0, 1, 2, 3]
    assert (len(range(read.batch)), [0] * read.batch) == (3, [0, 0, 0])
    assert (read.batch / 2, 7 / read.batch, 7 // read.batch) == (1.5, 7 / 3, 2)
    assert type(read.batch * 0.5) is type(0.5 * read.batch) is type(read.given) is float
    assert (read.rate, read.given, read.none) == (0.5, 4.0, None)
    with pytest.raises(TypeError):
        items[: read.given]


def test_a_float_flag_with_an_integer_default_is_a_float_to_all_others(tf_flags: Make) -> None:
    flags = tf_flags([])
    flags.DEFINE_float("scale", default_value=2, docstring="")
    scale = flags.FLAGS.scale

    assert type(pickle.loads(pickle.dumps(scale))) is type(copy.deepcopy(scale)) is float
    assert (f"{scale}", f"{scale:.2f}", json.dumps(scale)) == ("2.0", "2.00", "2.0")
    assert np.asarray(scale).dtype == np.float64
    assert (np.ones(2, np.float32) * scale).dtype == np.float32
    assert (np.int64(3) * scale, scale - np.float32(1)) == (6.0, 1.0)
    with tf.Graph().as_default():
        assert tf.constant(scale).dtype == tf.float32
        assert (tf.zeros([2], tf.float64) * scale).dtype == tf.float64


def test_withheld_flags_keep_their_defaults(tf_flags: Make) -> None:
    flags = tf_flags([], {"job_name": "worker", "num_gpus": "2"})
    flags.line.withhold(("job_name", "task_index"))
    flags.DEFINE_string("job_name", "", "ps or worker")
    flags.DEFINE_integer("num_gpus", 1, "devices")
    assert (flags.FLAGS.job_name, flags.FLAGS.num_gpus) == ("", 2)


def test_flag_values_of_its_own_let_a_notebook_define_its_flags_again(tf_flags: Make) -> None:
    flags = tf_flags(["--rate=0.5"])
    flags.DEFINE_integer("n", 1, "help")

    flags.FLAGS = flags._FlagValues()
    flags._global_parser = None
    flags.DEFINE_integer("n", 2, "help")
    flags.DEFINE_float("rate", 0.1, "help")

    assert (flags.FLAGS.n, flags.FLAGS.rate) == (2, 0.5)
    assert isinstance(flags.FLAGS, flags._FlagValues)
    assert isinstance(flags.FLAGS, flags._FlagValuesWrapper)
    assert not isinstance(3, flags._FlagValues)
    with pytest.raises(MoxValueError, match="'n' is defined twice"):
        flags.DEFINE_integer("n", 3, "help")
