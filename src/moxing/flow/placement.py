"""`flow.placement`: scopes that set where operations run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ContextDecorator
from typing import Any

from moxing.flow import absent
from moxing.flow.runtime import session
from moxing.flow.trace import context, scopes
from moxing.flow.trace.scopes import Scope


def current_scope() -> Scope:
    """The innermost open scope, or else the scope of all devices of the session."""
    trace = context.current()
    return scopes.current_scope(trace.topology if trace else session.default().topology)


class fixed_placement(ContextDecorator):  # noqa: N801
    """A block whose operations run on these devices; it may be entered again.

    Args:
        device_tag: "gpu" or "cpu"; without a GPU both are the CPU.
        machine_device_ids: "0:0", "0:0-3" or a list of those.
    """

    def __init__(self, device_tag: str, machine_device_ids: str | Sequence[str]) -> None:
        self._given, self._blocks = (device_tag, machine_device_ids), []

    def __enter__(self) -> None:
        # The number of machines is known for sure only when a job is traced.
        machines = None if session.default().settings.values.get("machine") else 1
        self._blocks.append(scopes.entered(*self._given, machines))
        self._blocks[-1].__enter__()

    def __exit__(self, *error: Any) -> bool | None:
        return self._blocks.pop().__exit__(*error)


device_prior_placement = fixed_placement

__getattr__, __dir__ = absent.of("flow.placement", globals())
