"""Names in texts that `mock` and `pydoc` get from a program are names of the faces."""

from __future__ import annotations

import json
import math
import pydoc
import unittest
from unittest import mock

import pytest

from moxing.errors import MoxAttributeError, MoxImportError
from moxing.legacy.face import patches
from moxing.legacy.face.faces import Faces, Spec

TABLE = {"key": 1}


@pytest.fixture
def faces() -> Faces:
    part = Spec(roots=("json.decoder",), names={"table": f"{__name__}:TABLE"})
    made = Faces(
        {
            "old": Spec(roots=("json",), names={"root": "math:sqrt", "decoder": part}),
            **patches.specs(lambda: made),
        }
    )
    return made


def test_patch_reaches_the_face_and_leaves_it_as_it_was(faces: Faces) -> None:
    old, patch = faces.load("old"), faces.load("unittest.mock").patch

    with patch("old.root", 5), patch("old.decoder.scanner", 6):
        assert (old.root, old.decoder.scanner) == (5, 6)
    with patch("old.loads") as double:
        double.return_value = 7
        assert old.loads("{}") == 7
        assert json.loads("{}") == {}

    assert old.root is math.sqrt
    assert old.decoder.scanner is json.decoder.scanner  # type: ignore
    assert old.loads is json.loads


def test_decorators_look_up_their_target_when_they_are_called(faces: Faces) -> None:
    patch = faces.load("unittest.mock").patch

    @patch("old.absent.name", 1)
    @patch("old.root")
    def call(root: mock.MagicMock) -> mock.MagicMock:
        return root

    with pytest.raises((MoxImportError, MoxAttributeError), match="absent"):
        call()
    faces.load("old").absent = mock.Mock(name="added")
    assert isinstance(call(), mock.MagicMock)


def test_patches_of_many_names_and_of_dictionaries(faces: Faces) -> None:
    old, patch = faces.load("old"), faces.load("unittest").mock.patch

    with patch.multiple("old", root=1, loads=2):
        assert (old.root, old.loads) == (1, 2)
    with patch.dict("old.decoder.table", key=2, other=3):
        assert TABLE == {"key": 2, "other": 3}

    assert TABLE == {"key": 1}
    assert (old.root, old.loads) == (math.sqrt, json.loads)


def test_everything_else_of_mock_is_its_own(faces: Faces) -> None:
    face = faces.load("unittest.mock")
    thing = mock.Mock(value=1)

    with face.patch("json.dumps", 3), face.patch.object(thing, "value", 2):
        assert (json.dumps, thing.value) == (3, 2)
    assert callable(json.dumps)
    assert thing.value == 1
    assert face.patch.TEST_PREFIX == "test"
    assert face.MagicMock is mock.MagicMock
    assert faces.load("unittest").TestCase is unittest.TestCase

    face.patch.TEST_PREFIX = "check"
    try:
        assert mock.patch.TEST_PREFIX == "check"
    finally:
        mock.patch.TEST_PREFIX = "test"


def test_patches_that_start_and_stop(faces: Faces) -> None:
    old, patch = faces.load("old"), faces.load("unittest.mock").patch
    patch("old.root", 5).start()
    assert old.root == 5
    patch.stopall()
    assert old.root is math.sqrt


def test_locate_finds_objects_of_the_faces(faces: Faces) -> None:
    locate = faces.load("pydoc").locate

    assert locate("old.root") is math.sqrt
    assert locate("old.decoder.JSONDecoder") is json.JSONDecoder
    assert locate("old") is faces.load("old")
    assert locate("old.nothing.at_all") is None
    assert locate("json.loads") is json.loads
    assert locate("nothing.at_all") is None
    assert faces.load("pydoc").render_doc is pydoc.render_doc
