"""Patterns select by regular expression, and the suggested flag skips what it has to."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moxing.engine.checkpoint.restoring.filters import Filter, some
from moxing.errors import MoxValueError

FLAG = "--checkpoint_exclude_patterns="


@pytest.mark.parametrize(
    ("include", "exclude", "wanted"),
    [
        ((), (), ["net/conv/w", "net/logits/w", "global_step"]),
        ("", None, ["net/conv/w", "net/logits/w", "global_step"]),
        ("net", "logits", ["net/conv/w"]),
        (("^net/", "step$"), (), ["net/conv/w", "net/logits/w", "global_step"]),
        ((), " logits , global_step ", ["net/conv/w"]),
        ("/[cl]o", ["g.*s/w"], ["net/conv/w"]),
    ],
)
def test_selection(include: str, exclude: str, wanted: list[str]) -> None:
    chosen = Filter(include, exclude)
    assert [n for n in ("net/conv/w", "net/logits/w", "global_step") if chosen.wants(n)] == wanted


def test_a_broken_pattern() -> None:
    with pytest.raises(MoxValueError) as caught:
        Filter(exclude="ok,logits(")
    assert str(caught.value) == (
        "checkpoint_exclude_patterns: 'logits(' is no regular expression (missing ),"
        " unterminated subpattern at position 6). A plain part of a variable's name, such as"
        " 'logits', is one."
    )
    with pytest.raises(MoxValueError, match="^checkpoint_include_patterns: '\\*' is no regular"):
        Filter(include=["*"])


RESNET = [
    f"resnet_v1_50/{scope}/weights" for scope in ("conv1", "block1/unit_1/conv1", "block4/unit_3")
]
INCEPTION = [
    "InceptionV3/Conv2d_1a_3x3/weights",
    "InceptionV3/Mixed_7c/Branch_0/weights",
    "InceptionV3/AuxLogits/Conv2d_1b_1x1/weights",
]


@pytest.mark.parametrize(
    ("bad", "good", "patterns"),
    [
        (["resnet_v1_50/logits/weights", "resnet_v1_50/logits/biases"], RESNET, "logits"),
        (
            [
                "InceptionV3/AuxLogits/Conv2d_2b_1x1/weights",
                "InceptionV3/Logits/Conv2d_1c_1x1/weights",
                "InceptionV3/Logits/Conv2d_1c_1x1/biases",
            ],
            INCEPTION,
            "Logits,AuxLogits",
        ),
        (["vgg_16/fc8/weights", "vgg_16/fc8/biases"], ["vgg_16/fc7/weights"], "fc8"),
        (["dense_1/kernel", "dense_1/bias"], ["dense/kernel", "dense_10/kernel"], "dense_1/"),
        (["dense/kernel"], ["dense/bias", "dense_1/kernel"], "'^dense/kernel$'"),
        (["a/x", "b/y"], ["c/z"], "a,b"),
        (["my_logits/a", "my_logits/b"], ["my_logits/c"], "a,b"),
        (["w.x-1"], ["wax-1"], r"'w\.x-1'"),
    ],
)
def test_the_suggested_flag(bad: list[str], good: list[str], patterns: str) -> None:
    assert Filter().line_excluding(bad, good) == FLAG + patterns


def test_the_suggested_flag_keeps_what_is_excluded_already() -> None:
    assert Filter(exclude="^step").line_excluding(["a"], ["b"]) == FLAG + "'^step,a'"


names = st.lists(
    st.lists(st.sampled_from(["a", "b", "ab", "logits", "w.", "x-1"]), min_size=1, max_size=4).map(
        "/".join
    ),
    min_size=2,
    max_size=8,
    unique=True,
)


@given(names, st.data())
def test_the_suggestion_skips_all_that_is_bad_and_nothing_that_is_good(
    names: list[str], data: st.DataObject
) -> None:
    bad = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    good = [name for name in names if name not in bad]
    line = Filter().line_excluding(bad, good).removeprefix(FLAG).strip("'")
    suggested = Filter(exclude=line)
    assert not any(suggested.wants(name) for name in bad)
    heads = re.compile("logits")
    assert all(suggested.wants(name) for name in good if not heads.search(name))


def test_long_lists_are_cut() -> None:
    assert some(["a", "b"]) == "a, b"
    assert some([str(n) for n in range(12)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"
