"""Gives an epoch's values both names of accuracy: "acc" up to Keras 2.2, "accuracy" since 2.3."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_LONG, _SHORT = "accuracy", "acc"


class Values(dict[str, Any]):
    """A dict that also finds a value by the other name of accuracy; it lists only its own names."""

    def __missing__(self, key: str) -> Any:
        other = _other(key)
        if other is None or not dict.__contains__(self, other):
            raise KeyError(key)
        return dict.__getitem__(self, other)

    def __contains__(self, key: object) -> bool:
        if dict.__contains__(self, key):
            return True
        other = _other(key) if isinstance(key, str) else None
        return other is not None and dict.__contains__(self, other)

    def get(self, key: str, default: Any = None) -> Any:
        """`dict.get`."""
        try:
            return self[key]
        except KeyError:
            return default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """`dict.setdefault`, by a value's own name."""
        if not dict.__contains__(self, key):
            self[key] = default
        return dict.__getitem__(self, key)


def _other(name: str) -> str | None:
    if name.endswith(_LONG):
        return name.removesuffix(_LONG) + _SHORT
    if name == _SHORT or name.endswith(f"_{_SHORT}"):
        return name.removesuffix(_SHORT) + _LONG
    return None


def install(callbacks: Iterable[Any]) -> None:
    """Makes callbacks and the history of `fit` find accuracy by both names from now on.

    Args:
        callbacks: modules with Keras' CallbackList and History.
    """
    for module in callbacks:
        _wrap(module.CallbackList)
        _wrap_history(module.History)


def _wrap(kind: Any) -> None:
    original = kind._process_logs
    if getattr(original, "gives_both_names", False):
        return

    def _process_logs(self: Any, logs: Any, is_batch_hook: bool = False) -> Any:
        found = original(self, logs, is_batch_hook)
        return Values(found) if isinstance(found, dict) and not is_batch_hook else found

    _process_logs.gives_both_names = True  # type: ignore[attr-defined]
    kind._process_logs = _process_logs


def _wrap_history(kind: Any) -> None:
    original = kind.__init__
    if getattr(original, "gives_both_names", False):
        return

    def __init__(self: Any) -> None:
        original(self)
        self.history = Values()

    __init__.gives_both_names = True  # type: ignore[attr-defined]
    kind.__init__ = __init__
