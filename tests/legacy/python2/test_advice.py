"""What is said about code that only Python 2 runs."""

from __future__ import annotations

import pytest

from moxing.legacy.python2 import advice

PORT = "This is Python 2; port the program to Python 3 (`mox port` does most of it)"


def _error(source: str) -> BaseException:
    try:
        exec(compile(source, "f.py", "exec"), {})
    except Exception as error:
        return error
    raise AssertionError(source)


@pytest.mark.parametrize(
    "source",
    [
        "print 'x'",
        "print x",
        "exec 'x'",
        "try:\n    pass\nexcept ValueError, e:\n    pass",
        "raise ValueError, 'x'",
        "n = 0777",
        "n = 10L",
        "if 1:\n        a = 1\n\tb = 2",
    ],
)
def test_syntax_of_python_2(source: str) -> None:
    error = _error(source)

    assert isinstance(error, SyntaxError)
    assert advice.about_syntax(error) == ("This looks like Python 2, but is not Python 2 either.")


def test_other_syntax_errors() -> None:
    error = _error("def f(:")

    assert isinstance(error, SyntaxError)
    error.python2_line = 1  # type: ignore[attr-defined]
    assert advice.about_syntax(error) == "It is not Python 2 either: see line 1."


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("xrange(3)", "instead of xrange write range."),
        ("unicode('x')", "instead of unicode write str."),
        ("import cPickle", "instead of cPickle import pickle."),
        ("import urllib2", "instead of urllib2 import urllib.request."),
        ("{}.iteritems()", "instead of iteritems use items()."),
        ("{}.has_key(1)", "instead of has_key use the operator in."),
    ],
)
def test_names_of_python_2(source: str, hint: str) -> None:
    assert advice.about(_error(source)) == f"{PORT}: {hint}"


@pytest.mark.parametrize(
    "source", ["no_such_name", "import no_such_module", "[].iteritems()", "{}.other()", "1/0"]
)
def test_other_errors_are_not_python_2(source: str) -> None:
    assert advice.about(_error(source)) == ""


@pytest.mark.parametrize(
    ("source", "call"),
    [
        ("map(int, '12')[0]", "map(...)"),
        ("len(filter(None, [1]))", "filter(...)"),
        ("{}.values()[0]", "d.values()"),
        ("zip([1], [2]) + [3]", "zip(...)"),
        ("{}.keys() + [1]", "d.keys()"),
    ],
)
def test_lists_of_python_2(source: str, call: str) -> None:
    assert advice.about(_error(source)).endswith(f"in Python 3 it does not: write list({call}).")


def test_objects_of_other_kinds_are_no_lists_of_python_2() -> None:
    assert not advice.about(_error("len(3)"))
    assert not advice.about(_error("(3)[0]"))
