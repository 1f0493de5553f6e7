"""The vocabularies of the translation tutorial."""

from __future__ import annotations

from pathlib import Path

import pytest
from absl import flags as absl_flags

from moxing.errors import MoxValueError
from moxing.legacy.face import catalog
from moxing.legacy.flags.command_line import CommandLine


def test_a_text_becomes_numbers_by_its_vocabulary(tmp_path: Path) -> None:
    faces = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())
    data = faces.load("tensorflow.models.rnn.translate").data_utils
    text, words, ids = (str(tmp_path / name) for name in ("text", "words", "ids"))
    Path(text).write_text('He said: "no, 12!"\nno no he\n', encoding="utf-8")

    with pytest.raises(MoxValueError, match="create_vocabulary"):
        data.initialize_vocabulary(words)
    data.create_vocabulary(words, text, 9)
    numbers, listed = data.initialize_vocabulary(words)
    assert listed[:5] == ["_PAD", "_GO", "_EOS", "_UNK", "no"]
    assert (len(listed), numbers["no"]) == (9, 4)
    assert data.basic_tokenizer(b'"no, 12!"') == ['"', "no", ",", "12", "!", '"']
    assert data.sentence_to_token_ids("no bird", numbers) == [4, data.UNK_ID]

    data.data_to_token_ids(text, ids, words)
    first, second = Path(ids).read_text(encoding="utf-8").splitlines()
    assert second.split()[:2] == ["4", "4"]
    assert len(first.split()) == 9
    Path(text).write_text("other", encoding="utf-8")
    data.create_vocabulary(words, text, 9)
    assert data.initialize_vocabulary(words)[1] == listed
