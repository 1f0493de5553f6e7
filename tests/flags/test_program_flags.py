"""The values of a program's own flags, for the records of runs."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from absl import flags as absl_flags

from moxing.flags import command, program_flags


@pytest.fixture(autouse=True)
def none_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_flags, "_parsed", {})
    monkeypatch.setattr(program_flags, "_defined", {})


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> absl_flags.FlagValues:
    """absl's global flags, without those of the modules of tests."""
    values = absl_flags.FlagValues()
    monkeypatch.setattr(absl_flags, "FLAGS", values)
    return values


def test_flags_of_absl_are_known_at_their_defaults(registered: absl_flags.FlagValues) -> None:
    absl_flags.DEFINE_float("rate", 0.5, "", flag_values=registered)
    absl_flags.DEFINE_list("sizes", ["3", "4"], "", flag_values=registered)
    assert program_flags.effective() == {"rate": 0.5, "sizes": ["3", "4"]}


def test_flags_of_installed_packages_are_not_the_programs(
    registered: absl_flags.FlagValues, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = ModuleType("some_library")
    library.__file__ = "/x/site-packages/some_library.py"
    monkeypatch.setitem(sys.modules, "some_library", library)
    absl_flags.DEFINE_integer("theirs", 1, "", flag_values=registered)
    module = registered.find_module_defining_flag("theirs")
    modules = registered.flags_by_module_dict()
    modules["some_library"] = modules.pop(str(module))
    assert program_flags.effective() == {}


def test_secrets_functions_and_addresses_of_tasks_are_left_out() -> None:
    program_flags.note_parsed(
        {
            "rate": 0.1,
            "out": Path("/data/out"),
            "api_key": "hush",
            "url": "http://me:hush@host",
            "handler": print,
            "task_index": 3,
            "sizes": [1, 2],
            "none": None,
        }
    )
    assert program_flags.effective() == {
        "rate": 0.1,
        "out": "/data/out",
        "sizes": [1, 2],
        "none": None,
    }


def test_the_record_of_a_command_has_them() -> None:
    program_flags.note_parsed({"rate": 0.1})
    assert command.recorded()["flags"]["rate"] == 0.1
