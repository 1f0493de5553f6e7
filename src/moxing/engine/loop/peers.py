"""Keeps the step loops of several processes together, and ends them together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.loop.progress import Progress
from moxing.engine.model.program import Program
from moxing.engine.process.solo import Solo
from moxing.engine.process.team import Team


class NoPeers:
    """The peers of a loop whose process is alone: the loop ends without asking other processes.

    Attributes:
        active: whether there are other processes.
        workers: number of processes among which the steps of the run are divided.
        left: whether all processes have agreed that the step just run is the last.
        together: whether a step ends only when the steps of all processes do.
    """

    active = False
    together = False
    workers = 1
    left = False

    def leave(self, wanted: bool) -> bool:
        """Whether the loop ends before another step.

        Args:
            wanted: whether this process wants it to end.
        """
        return wanted

    def hear(self, values: Mapping[str, Any]) -> None:
        """Takes the messages of other processes from a step's values."""

    def end_of_input(self, error: tf.errors.OutOfRangeError) -> None:
        """Tells the others that the data here has ended, unless other data has ended before."""

    def ended(self, error: tf.errors.OpError) -> bool:
        """Whether another process aborted this step because its data had ended."""
        return False


class Peers(NoPeers):
    """The peers of a loop whose process is in a team.

    Processes that update together end together: a process that wants to stop says so in the next
    step, in which all processes read it.

    Args:
        team: the other processes.
        program: the program whose steps are run.
        session: an open session.
        progress: the loop's progress.
    """

    active = True

    def __init__(
        self, team: Team, program: Program, session: tf.Session, progress: Progress
    ) -> None:
        assert program.team is not None
        self._team, self._session, self._progress = team, session, progress
        self._wish = program.team.wish
        self._apart = team.apart
        self.together = not team.apart
        self._asked = False
        self.left = False
        # Workers that do not wait for each other divide the steps among themselves.
        self.workers = team.size if team.apart else 1

    def leave(self, wanted: bool) -> bool:
        wanted = wanted or self._team.stop_was_asked()
        if wanted and not self._asked:
            self._asked = True
            self._team.ask_to_stop()
            self._session.run(self._wish)
        return wanted if self._apart else self.left

    def hear(self, values: Mapping[str, Any]) -> None:
        told, progress = values["team"], self._progress
        self.left = told.get("agreed", 0.0) > 0
        if "global_step" in told:
            progress.shared_step = max(progress.global_step, int(told["global_step"]))
        self._team.member.report_step(progress.global_step)
        self._team.check(progress.global_step)

    def end_of_input(self, error: tf.errors.OutOfRangeError) -> None:
        progress = self._progress
        progress.ended_by = self._team.peer_ended(error, progress.step)
        if progress.ended_by is None and not self._apart:
            self._team.input_ended(progress.step)

    def ended(self, error: tf.errors.OpError) -> bool:
        progress = self._progress
        progress.ended_by = self._team.peer_ended(error, progress.step)
        progress.input_ended = progress.ended_by is not None
        return progress.input_ended


def of_team(team: Solo, program: Program, session: tf.Session, progress: Progress) -> NoPeers:
    """The peers of a loop: `Peers` in a team of several processes, otherwise `NoPeers`."""
    return Peers(team, program, session, progress) if isinstance(team, Team) else NoPeers()
