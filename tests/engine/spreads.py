"""One device's model, as a step is built of it."""

from __future__ import annotations

from moxing.engine.graph import updates
from moxing.engine.job.job import Loss, Model
from moxing.engine.parallel.reduce import Spread
from moxing.engine.parallel.replicas import Replica


def alone(*losses: Loss) -> Spread:
    """The spread of a model with these losses, on one device in one process."""
    return Spread([Replica(0, "", Model(losses=losses), tuple(updates.collect()))])
