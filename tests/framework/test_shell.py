"""Bash reads the words that were written down, and nobody else reads a line of them."""

from __future__ import annotations

import subprocess

import pytest

from moxing.framework import shell


@pytest.mark.parametrize(
    "word",
    [
        "train.py",
        "",
        "a b",
        "it's",
        "\\n",
        "$(x)",
        "漢ü",
        "a\nb",
        "\x1b[31m'\\\r",
        "x\u202e1",
        "\udce9",
    ],
    ids=ascii,
)
def test_the_same_words_come_out(word: str) -> None:
    line = shell.joined(["printf", "%s\\0%s", word, "0"])
    assert line.isprintable()
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)
    assert done.stdout.decode(errors="surrogateescape") == f"{word}\0" + "0"
