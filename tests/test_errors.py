"""Messages of errors, whatever text from outside they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from moxing.cli import main
from moxing.errors import MoxKeyError, MoxValueError, near_files
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


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("trian.py", " Did you mean 'train.py'?"),
        ("code/evla.py", " Did you mean 'eval.py'?"),
        ("trian", ""),
        ("nothing.py", ""),
        ("no/folder/train.py", ""),
        ("tra\0n.py", " Did you mean 'train.py'?"),
    ],
)
def test_names_of_files_beside_one_that_is_not_there(
    path: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("train.py", "train.pyc", "code/eval.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "traim.py").mkdir()
    monkeypatch.chdir(tmp_path)
    assert near_files(path) == hint


@pytest.mark.parametrize("command", ["port", "runs", "compare", "launch"])
def test_a_name_on_the_command_line_steers_no_terminal(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main([command, "\x1b[31m.py"]) in (1, 2)
    told = capsys.readouterr().err
    assert "\\x1b[31m.py" in told
    assert "\x1b" not in told
