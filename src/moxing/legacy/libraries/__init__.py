"""Libraries around TensorFlow as programs of its time know them, for the user's modules only."""

from __future__ import annotations

from moxing.legacy.face.faces import Spec
from moxing.legacy.libraries import numpy_face


def specs() -> dict[str, Spec]:
    """What the user's modules see in place of libraries, by the name they import."""
    return {"numpy": numpy_face.spec()}
