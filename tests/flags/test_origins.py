"""Messages about flags of a file name the file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from moxing import flags
from moxing.errors import MoxValueError
from moxing.flags import origins


@pytest.fixture(autouse=True)
def files() -> Iterator[None]:
    origins.forget()
    origins.note("a.yaml", ["--steps=5", "--mode"])
    origins.note("run.json", ["--rate", "abc", "--mode=x"])
    yield
    origins.forget()


@pytest.mark.parametrize(
    ("name", "text", "path"),
    [
        ("steps", None, "a.yaml"),
        ("steps", "5", "a.yaml"),
        ("steps", "6", ""),  # Typed.
        ("rate", "abc", "run.json"),
        ("mode", "x", "run.json"),
        ("abc", None, ""),
        ("other", None, ""),
    ],
)
def test_the_file_of_a_flag(name: str, text: str | None, path: str) -> None:
    assert origins.of(name, text) == path


def test_messages_of_other_parsers_name_files() -> None:
    told = "argument -s/--steps: invalid int value: 'x'"

    assert origins.about(told) == f"{told} (--steps stands in a.yaml)"
    assert origins.about("unrecognized arguments: --other=1") == "unrecognized arguments: --other=1"


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("--num_gpus=two", "a.yaml: --num_gpus=two: expected an integer, got 'two'."),
        ("--num_gpus=-3", "a.yaml: --num_gpus=-3: it must be at least 0."),
        (
            "--worker_hosts",
            "a.yaml: --worker_hosts needs a value: --worker_hosts=VALUE. In a.yaml,",
        ),
    ],
)
def test_values_of_runtime_flags(word: str, told: str) -> None:
    origins.note("a.yaml", [word])

    with pytest.raises(MoxValueError) as error:
        flags.consume([word])
    assert str(error.value).startswith(told)

    with pytest.raises(MoxValueError) as error:
        flags.consume(["--num_gpus=three"])
    assert str(error.value).startswith("--num_gpus=three: ")


def test_without_files_nothing_stands_in_a_file() -> None:
    origins.forget()

    assert origins.names() == []
    assert origins.about("argument --steps") == "argument --steps"
    assert origins.wants_quotes("mode") == ""
