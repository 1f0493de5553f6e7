"""Programs of TensorFlow 1.x are told the version whose names they see."""

from __future__ import annotations

import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import json  # noqa: E402

import pytest  # noqa: E402
import tensorflow  # noqa: E402
from packaging.version import Version as Packaged  # noqa: E402

from moxing.legacy.face import catalog  # noqa: E402
from moxing.legacy.flags.command_line import CommandLine  # noqa: E402
from moxing.legacy.names.version import VERSION, Version  # noqa: E402
from moxing.legacy.plain.dialect import Dialect  # noqa: E402


@pytest.mark.parametrize("name", ["__version__", "VERSION", "version.VERSION"])
def test_every_name_of_the_version_tells_that_of_the_names(name: str) -> None:
    value = catalog.make_faces(CommandLine([], {}, ())).load("tensorflow")
    for part in name.split("."):
        value = getattr(value, part)

    assert value == "1.15.5"


def test_modules_of_tensorflow_itself_tell_it_too() -> None:
    faces = catalog.make_faces(CommandLine([], {}, ()))

    assert faces.load("tensorflow.python.framework.versions").VERSION == "1.15.5"
    assert faces.load("tensorflow.python").__version__ == "1.15.5"
    assert faces.load("tensorflow").version.GIT_VERSION == tensorflow.version.GIT_VERSION
    assert faces.load("tensorflow").compat.v2.__version__ == tensorflow.__version__


def test_programs_of_tensorflow_2_are_told_the_real_version() -> None:
    faces = catalog.make_faces(
        CommandLine([], {}, ()), dialect=Dialect(eager=True, old_names=False)
    )

    assert faces.load("tensorflow").__version__ == tensorflow.__version__


@pytest.mark.parametrize("older", ["0.12", "1.4", "1.4.0", "1.9", "1.15", "1.15.0-rc1", "1.2.1"])
def test_versions_before_are_less_as_text_too(older: str) -> None:
    own = VERSION

    assert own > older
    assert own >= older
    assert not own < older
    assert not own <= older
    assert older < own
    assert max(older, own) is own


@pytest.mark.parametrize("newer", ["2", "2.0", "2.0.0-alpha0", "1.15.6", "10.1"])
def test_versions_after_are_greater_as_text_too(newer: str) -> None:
    own = VERSION

    assert own < newer
    assert own <= newer
    assert newer > own
    assert not newer <= own


def test_it_is_text_in_all_else() -> None:
    assert VERSION.split(".") == ["1", "15", "5"]
    assert VERSION.startswith("1.")
    assert hash(VERSION) == hash("1.15.5")
    assert json.dumps(VERSION) == '"1.15.5"'
    assert Version("1.4") < "nightly"
    assert Packaged(VERSION) < Packaged("2.0.0")
    with pytest.raises(TypeError):
        _ = VERSION < 2  # type: ignore[operator]
