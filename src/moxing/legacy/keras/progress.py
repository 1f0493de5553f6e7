"""Keeps the number and size of a batch out of Keras' progress bar, as Keras 2 did."""

from __future__ import annotations

import functools
from typing import Any


def install() -> None:
    """From now on the bar shows losses and metrics only, in epochs that count batches too."""
    from tf_keras import callbacks

    for name in ("on_train_batch_end", "on_test_batch_end"):
        original = vars(callbacks.ProgbarLogger)[name]
        if not hasattr(original, "shows_results"):
            setattr(callbacks.ProgbarLogger, name, _of_results(original))


def _of_results(original: Any) -> Any:
    @functools.wraps(original)
    def method(self: Any, batch: int, logs: dict[str, Any] | None = None) -> None:
        # Without use_steps Keras counts samples by these values, and drops them itself.
        if self.use_steps and logs and "size" in logs and logs.get("batch") == batch:
            logs = {key: value for key, value in logs.items() if key not in ("batch", "size")}
        original(self, batch, logs)

    method.shows_results = True  # type: ignore[attr-defined]
    return method
