"""`moxing.mxnet` and `moxing.pytorch` say what became of them."""

from __future__ import annotations

import importlib

import pytest

from moxing.errors import MoxImportError


@pytest.mark.parametrize("name", ["mxnet", "pytorch"])
def test_importing_them_gives_one_sentence(name: str) -> None:
    for module in (f"moxing.{name}", f"moxing.{name}.inner"):
        with pytest.raises(MoxImportError) as raised:
            importlib.import_module(module)
        assert str(raised.value).startswith(f"moxing.{name} is not part of openmox")
        assert isinstance(raised.value, ImportError)
