"""Faces: what they show, what they make on demand, and what they say about what is gone."""

from __future__ import annotations

import json
import json.decoder
import sys
import types
from pathlib import Path

import pytest

from moxing.errors import MoxAttributeError, MoxImportError
from moxing.legacy.face.faces import Faces, Spec, resolve


def _faces(**roots: Spec) -> Faces:
    return Faces(roots)


def test_a_face_shows_its_root_with_names_added_and_replaced() -> None:
    spec = Spec(roots=("json",), names={"loads": "math:sqrt", "pi": "math:pi", "m": "math"})
    face = _faces(old=spec).load("old")

    assert face.dumps is json.dumps
    assert face.loads(9.0) == 3.0
    assert face.pi == pytest.approx(3.14159, abs=1e-5)
    assert face.m is sys.modules["math"]
    assert isinstance(face, types.ModuleType)
    assert "dumps" in dir(face)
    assert "pi" in face.__all__
    assert "old" not in sys.modules


def test_roots_are_asked_in_order_and_then_the_fallback() -> None:
    face = _faces(old=Spec(roots=("json", "math"), fallback=("cmath",))).load("old")

    assert face.loads is json.loads
    assert face.factorial(3) == 6
    assert face.polar(1j)[0] == 1.0


def test_functions_are_called_once_for_their_value() -> None:
    calls = []

    def make() -> object:
        calls.append(1)
        return object()

    face = _faces(old=Spec(names={"thing": make})).load("old")

    assert face.thing is face.thing
    assert len(calls) == 1


def test_faces_within_faces_are_loaded_by_name_and_by_attribute() -> None:
    faces = _faces(
        old=Spec(
            names={
                "sub": Spec(names={"leaf": Spec(roots=("json",))}),
                "alias": "face:old.sub.leaf",
            }
        )
    )

    leaf = faces.load("old.sub.leaf")

    assert leaf.loads is json.loads
    assert faces.load("old").sub.leaf is leaf
    assert faces.load("old").alias is leaf
    assert faces.load("old.alias") is leaf


def test_submodules_of_roots_are_real_unless_the_face_is_deep() -> None:
    shallow = _faces(old=Spec(roots=("json",)))
    deep = _faces(old=Spec(roots=("json",), fallback=("math",), deep=True))

    assert shallow.load("old.decoder") is json.decoder
    face = deep.load("old.decoder")
    assert face is not json.decoder
    assert face.JSONDecoder is json.decoder.JSONDecoder
    assert face.sqrt(4.0) == 2.0
    assert deep.load("old").decoder is face


def test_submodules_of_an_alias_are_the_same_as_of_the_face() -> None:
    faces = _faces(old=Spec(roots=("json",), names={"self": "face:old"}, deep=True))

    assert faces.load("old.self") is faces.load("old")
    assert faces.load("old.self.decoder") is faces.load("old.decoder")


def test_submodules_of_real_modules_are_real() -> None:
    faces = _faces(old=Spec(names={"xml": "xml"}))

    assert faces.load("old.xml.dom") is sys.modules["xml.dom"]


def test_what_is_gone_says_what_to_do() -> None:
    face = _faces(old=Spec(names={"a": Spec(gone={"b": "Use c."})})).load("old.a")

    with pytest.raises(MoxAttributeError) as raised:
        _ = face.b

    assert str(raised.value) == "old.a.b is gone from TensorFlow 2.x. Use c."
    assert not hasattr(face, "b")


def test_unknown_names_get_near_matches() -> None:
    faces = _faces(old=Spec(roots=("json",), otherwise=" Ask elsewhere."))

    with pytest.raises(MoxAttributeError) as raised:
        _ = faces.load("old").dumpz
    assert str(raised.value) == (
        "module 'old' has no attribute 'dumpz'. Did you mean 'dump' or 'dumps'? Ask elsewhere."
    )
    with pytest.raises(MoxImportError, match="module 'old' has no attribute 'nothing'"):
        faces.load("old.nothing")
    with pytest.raises(MoxImportError, match="old.loads"):
        _faces(old=Spec(names={"loads": "json:loads"})).load("old.loads")


def test_names_once_began_with_a_prefix() -> None:
    face = _faces(old=Spec(roots=("json",), old_prefix="_")).load("old")

    assert face._dumps is json.dumps
    assert face.dumps is json.dumps
    with pytest.raises(MoxAttributeError, match="no attribute '_nothing'"):
        _ = face._nothing
    with pytest.raises(MoxAttributeError, match="no attribute '_dumps'"):
        _ = _faces(old=Spec(roots=("json",))).load("old")._dumps


def test_errors_inside_real_modules_are_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_root.py").write_text("import no_such_module_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ModuleNotFoundError, match="no_such_module_at_all"):
        _ = _faces(old=Spec(roots=("broken_root",))).load("old").anything


def test_import_module_covers_faces_and_real_modules() -> None:
    faces = _faces(old=Spec(roots=("json",)))

    assert faces.import_module("old") is faces.load("old")
    assert faces.import_module("math") is sys.modules["math"]
    assert faces.import_module(".decoder", "json") is json.decoder


def test_resolve_follows_attributes() -> None:
    assert resolve("json:decoder.JSONDecoder") is json.decoder.JSONDecoder
    assert resolve("math") is sys.modules["math"]
