"""The command that a run records, without secrets."""

from __future__ import annotations

import os
import sys

import pytest

from moxing.flags import command


@pytest.mark.parametrize(
    ("arguments", "kept", "left_out"),
    [
        (["--steps=5", "name", "-v"], ["--steps=5", "name", "-v"], []),
        (["--db_password=hush", "--x=1"], ["--x=1"], ["--db_password"]),
        (["--api-key", "hush", "--x"], ["--x"], ["--api-key"]),
        (["--token", "--x"], ["--x"], ["--token"]),
        (["--url=http://me:hush@host/x"], [], ["--url"]),
        (["s3://me:hush@host/x"], [], ["a URL with a password"]),
        (
            ["--token_file=/run/t", "--tokenizer=bert"],
            ["--token_file=/run/t", "--tokenizer=bert"],
            [],
        ),
    ],
)
def test_secrets_stay_out(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], kept: list[str], left_out: list[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", *arguments])

    recorded = command.recorded()

    assert recorded["arguments"] == kept
    assert recorded.get("left_out", []) == left_out
    assert "hush" not in str(recorded)
    assert recorded["directory"] == os.getcwd()
