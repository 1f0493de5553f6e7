"""Opens the readers of all jobs, and counts how far train jobs have read their records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import blame
from moxing.flow.runtime.calls import Built
from moxing.logs import TENSORFLOW


class Readers:
    """The readers of a session's jobs.

    The place of a job is the number of batches that it has taken: in each step, every reader of the
    job takes one batch. Jobs that do not train begin with their first record in each process.
    """

    def __init__(self, built: Mapping[str, Built], tell: Callable[..., None]) -> None:
        """Takes the jobs.

        Args:
            built: the graphs of the jobs, by name of the job.
            tell: sends an order to the other machines.
        """
        self._built, self._tell = built, tell
        self._taken: dict[str, int] = {}

    def open(self, native: tf.Session, job: str, batches: int = 0) -> None:
        """Opens the readers of a job behind the first `batches` batches of their records."""
        readers = self._built[job].readers
        with blame.noted(native.graph, "while a dataset was opened"):
            feeds = {reader.position: batches for reader in readers} if batches else {}
            native.run([reader.initializer for reader in readers], feeds)

    def stepped(self, job: str) -> None:
        """Counts a step of a job."""
        self._taken[job] = self._taken.get(job, 0) + 1

    def places(self) -> dict[str, dict[str, Any]]:
        """Returns, for a checkpoint, the place and the sources of each train job with readers."""
        return {
            job: {"batches": self._taken.get(job, 0), "sources": sources}
            for job, sources in self._sources().items()
        }

    def go_on(self, native: tf.Session, places: Mapping[str, tuple[int, list[str]]]) -> None:
        """Leads the readers of train jobs without a step to their place in a checkpoint.

        Args:
            native: the session that runs the readers.
            places: batches and sources of each job in the checkpoint.
        """
        for job, sources in self._sources().items():
            batches, found = places.get(job, (0, sources))
            if not batches or self._taken.get(job):
                continue
            if found != sources:
                TENSORFLOW.info(
                    "job %s begins with its first record: the run that saved took %d batches of"
                    " other records, or divided them otherwise.",
                    job,
                    batches,
                )
                continue
            TENSORFLOW.info(
                "job %s goes on behind the %d batches that were taken before.", job, batches
            )
            self._tell("readers", job=job, batches=batches)
            self.open(native, job, batches)
            self._taken[job] = batches

    def _sources(self) -> dict[str, list[str]]:
        """Returns descriptions of the records of each train job with readers."""
        return {job: built.sources for job, built in self._built.items() if built.sources}
