"""Messages of errors, whatever text from outside they hold."""

from __future__ import annotations

import pytest

from moxing.cli import main
from moxing.errors import MoxKeyError, MoxValueError


@pytest.mark.parametrize("kind", [MoxValueError, MoxKeyError])
def test_a_message_steers_no_terminal(kind: type[Exception]) -> None:
    text = "a\x1b[31mb\rc\n\td\x9be\u202ef\udcff é 中"
    assert str(kind(text)) == "a\\x1b[31mb\\rc\n\td\\x9be\\u202ef\\udcff é 中"
    assert str(kind()) == ""


@pytest.mark.parametrize("command", ["port", "runs", "compare", "launch"])
def test_a_name_on_the_command_line_steers_no_terminal(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main([command, "\x1b[31m.py"]) in (1, 2)
    told = capsys.readouterr().err
    assert "\\x1b[31m.py" in told
    assert "\x1b" not in told
