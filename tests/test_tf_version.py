"""Which TensorFlow is accepted, and what is said about others."""

from __future__ import annotations

import importlib.metadata

import pytest

import moxing
from moxing import tf_version
from moxing.errors import MoxImportError


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    versions: dict[str, str] = {}

    def version(name: str) -> str:
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(tf_version.importlib.metadata, "version", version)
    return versions


def test_the_installed_one_is_accepted() -> None:
    tf_version.check()


@pytest.mark.parametrize("version", ["2.21.0", "2.21.3", "2.21.0rc1"])
@pytest.mark.parametrize("name", ["tensorflow", "tensorflow-cpu"])
def test_versions_that_fit(installed: dict[str, str], name: str, version: str) -> None:
    installed[name] = version

    tf_version.check()


@pytest.mark.parametrize("version", ["1.13.1", "2.20.0", "2.22.0", "2.2.1"])
def test_versions_that_do_not_fit(installed: dict[str, str], version: str) -> None:
    installed["tensorflow-cpu"] = version

    with pytest.raises(MoxImportError) as raised:
        tf_version.check()

    assert str(raised.value) == (
        f"found tensorflow-cpu {version}, but openmox {moxing.__version__} needs"
        " tensorflow>=2.21,<2.22. Install it with: pip install 'tensorflow-cpu>=2.21,<2.22'"
    )


def test_no_tensorflow(installed: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf_version.importlib.util, "find_spec", lambda name: None)

    with pytest.raises(MoxImportError, match="TensorFlow is not installed; openmox"):
        tf_version.check()


def test_a_tensorflow_without_metadata_is_its_users(installed: dict[str, str]) -> None:
    tf_version.check()
