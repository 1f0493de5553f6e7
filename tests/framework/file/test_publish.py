"""Folders that are copied to a store are there whole, or are told from whole ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from moxing.errors import MoxRuntimeError, MoxValueError
from moxing.framework import file
from moxing.framework.file import publish
from moxing.framework.file.copying import trees

FILES = {"a": b"1", "b/c": b"2", "done": b""}


def _names(url: str) -> list[str]:
    return file.list_directory(url, recursive=True, skip_dir=True) if file.exists(url) else []


@pytest.mark.parametrize("store", ["bucket", "folder_bucket"])
def test_all_files_arrive_and_no_mark_stays(
    store: str, request: pytest.FixtureRequest, make_tree: Callable[..., Path]
) -> None:
    url = f"{request.getfixturevalue(store)}/x"
    publish.put(str(make_tree(FILES)), url, "done")
    assert _names(url) == ["a", "b/c", "done"]
    publish.refuse_part(url)


def test_what_a_killed_process_left_is_refused_and_then_replaced(
    folder_bucket: str, make_tree: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, local = f"{folder_bucket}/x", str(make_tree(FILES))

    class KilledError(BaseException):
        pass

    def killed(src: str, dst: str, names: list[str]) -> None:
        assert names == ["a", "b/c"]
        trees.copy_files([(f"{src}/a", f"{dst}/a")])
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(trees, "copy_tree", killed)
        patch.setattr(publish, "_undo", lambda *_: None)
        with pytest.raises(KilledError):
            publish.put(local, url, "done")
    mark, name = _names(url)
    assert mark.startswith(publish.MARK)
    assert name == "a"
    with pytest.raises(MoxValueError) as caught:
        publish.refuse_part(url)
    assert str(caught.value) == (
        f"{url} is not complete: it is being written, or the process that wrote it was killed."
        f" Write it again, or delete {url}/{mark} if all its files are there."
    )

    file.write(f"{url}/other", "kept")
    publish.put(str(make_tree({"a": b"new"}, "second")), url)
    assert _names(url) == ["a", "other"]
    assert file.read(f"{url}/a") == "new"


def test_a_store_that_fails_is_left_as_it_was(
    folder_bucket: str, make_tree: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{folder_bucket}/x"

    def fails(src: str, dst: str, names: list[str]) -> None:
        trees.copy_files([(f"{src}/{names[0]}", f"{dst}/{names[0]}")])
        raise file.MoxFileConnectionException("the store went away")

    monkeypatch.setattr(trees, "copy_tree", fails)
    with pytest.raises(file.MoxFileConnectionException):
        publish.put(str(make_tree(FILES)), url, "done")
    assert _names(url) == []


def test_of_two_that_write_the_same_files_one_is_told(
    folder_bucket: str, make_tree: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, local = f"{folder_bucket}/x", str(make_tree(FILES))
    copy, begun = trees.copy_tree, []

    def meets_another(src: str, dst: str, names: list[str]) -> None:
        copy(src, dst, names)
        if not begun:
            begun.append(True)
            publish.put(local, url, "done")

    monkeypatch.setattr(trees, "copy_tree", meets_another)
    with pytest.raises(MoxRuntimeError) as caught:
        publish.put(local, url, "done")
    assert str(caught.value) == (
        f"another process writes to {url} at the same time: end one of them."
    )
    assert _names(url) == ["a", "b/c", "done"]


def test_marks_of_other_files_are_let_alone(
    folder_bucket: str, make_tree: Callable[..., Path]
) -> None:
    """Two may write different files into one folder."""
    url = f"{folder_bucket}/x"
    file.write(f"{url}/theirs", "half")
    file.write(f"{url}/{publish.MARK}1", json.dumps(["theirs"]))
    publish.put(str(make_tree({"a": b"1"})), url)
    assert _names(url) == [f"{publish.MARK}1", "a", "theirs"]
    publish.clear(url)
    assert _names(url) == ["a"]
