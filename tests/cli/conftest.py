"""Keeps the process of the tests, in which commands are called, in the network of the machine."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from moxing.errors import MoxNotSupportedError
from moxing.launch.isolation import way_out


@pytest.fixture(autouse=True)
def _in_the_network_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job's own network is entered for good; the servers of later tests are outside of it."""

    def refused(*_: Any) -> NoReturn:
        raise MoxNotSupportedError("the process of the tests stays where it is")

    monkeypatch.setattr(way_out, "enter", refused)
