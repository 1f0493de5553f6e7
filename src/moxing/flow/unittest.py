"""`flow.unittest`: tells how many machines a test needs, and collects tests."""

from __future__ import annotations

import importlib.util
import os
import unittest
from collections.abc import Callable, MutableMapping
from typing import Any

from moxing.flow import absent
from moxing.flow.runtime import session

_NEEDS = "__oneflow_test_case_num_nodes_required__"


def num_nodes_required(num_nodes: int) -> Callable[[Any], Any]:
    """Sets how many machines a test needs."""

    def decorate(function: Any) -> Any:
        setattr(function, _NEEDS, num_nodes)
        return function

    return decorate


class _OwnSession:
    """Begins a session before each test."""

    def setUp(self) -> None:  # noqa: N802
        session.clear_default_session()


def register_test_cases(
    scope: MutableMapping[str, Any],
    directory: str,
    filter_by_num_nodes: Callable[[int], bool],
    base_class: type = unittest.TestCase,
) -> None:
    """Makes a class of tests from each file `test*.py` of a folder, and puts it into `scope`.

    Args:
        scope: such as `globals()`.
        directory: the folder of the files.
        filter_by_num_nodes: returns whether to take a test, given its number of machines.
        base_class: the base class of the classes.
    """
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if not (name.startswith("test") and name.endswith(".py") and os.path.isfile(path)):
            continue
        spec = importlib.util.spec_from_file_location(name[:-3], path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        methods = {
            key: value
            for key, value in vars(module).items()
            if key.startswith("test") and callable(value)
            if filter_by_num_nodes(getattr(value, _NEEDS, 1))
        }
        scope[name[:-3]] = type(name[:-3], (_OwnSession, base_class), methods)


__getattr__, __dir__ = absent.of("flow.unittest", globals())
