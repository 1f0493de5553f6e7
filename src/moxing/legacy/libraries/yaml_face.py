"""PyYAML as it was until 6.0: `yaml.load` of one argument, read safely."""

from __future__ import annotations

from typing import Any

from moxing.legacy.face.faces import Spec


def spec() -> Spec:
    """PyYAML; everything else is its own."""
    return Spec(
        roots=("yaml",),
        names={"load": lambda: load, "load_all": lambda: load_all},
        library=True,
    )


def load(stream: Any, Loader: Any = None) -> Any:
    """Returns the first document of a stream.

    Args:
        stream: a text or an open file.
        Loader: default: SafeLoader, which makes plain values only. Other values need a Loader.
    """
    import yaml

    return yaml.load(stream, Loader or yaml.SafeLoader)


def load_all(stream: Any, Loader: Any = None) -> Any:
    """Yields all documents of a stream; see `load`."""
    import yaml

    return yaml.load_all(stream, Loader or yaml.SafeLoader)
