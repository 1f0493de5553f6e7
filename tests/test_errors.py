"""Messages of errors, whatever text from outside they hold."""

from __future__ import annotations

import pytest

from moxing.cli import main
from moxing.errors import MoxKeyError, MoxValueError
from moxing.flags import set_flag


@pytest.mark.parametrize("kind", [MoxValueError, MoxKeyError])
def test_a_message_steers_no_terminal(kind: type[Exception]) -> None:
    text = "a\x1b[31mb\rc\n\td\x9be\u202ef\udcff é 中"
    assert str(kind(text)) == "a\\x1b[31mb\\rc\n\td\\x9be\\u202ef\\udcff é 中"
    assert str(kind()) == ""


@pytest.mark.parametrize("debug", [False, True])
def test_a_notebook_shows_the_program_s_own_frames(
    debug: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOX_DEBUG", str(int(debug)))
    with pytest.raises(MoxValueError) as raised:
        set_flag("num_gpus", "many")
    raised.value.add_note("openmox: raised in a test")
    lines = raised.value._render_traceback_()
    assert __file__ in lines[0]
    assert (len(lines) > 3) == debug
    assert lines[-2].startswith("MoxValueError: ")
    assert lines[-1] == "openmox: raised in a test"


@pytest.mark.parametrize("command", ["port", "runs", "compare", "launch"])
def test_a_name_on_the_command_line_steers_no_terminal(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main([command, "\x1b[31m.py"]) in (1, 2)
    told = capsys.readouterr().err
    assert "\\x1b[31m.py" in told
    assert "\x1b" not in told
