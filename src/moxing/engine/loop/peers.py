"""How the step loops of several processes stay together, and how they end together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.loop.progress import Progress
from moxing.engine.model.program import Program
from moxing.engine.process.solo import Solo
from moxing.engine.process.team import Team


class NoPeers:
    """A loop whose process is alone: it ends when it wants to.

    Attributes:
        active: whether there are other processes.
        workers: among how many processes the steps of the run are shared.
        left: whether the step that was run is the last, as all processes know.
    """

    active = False
    workers = 1
    left = False

    def leave(self, wanted: bool) -> bool:
        """Whether the loop ends before another step, where this process wants it to or not."""
        return wanted

    def hear(self, values: Mapping[str, Any]) -> None:
        """Takes what a step says of other processes."""

    def end_of_input(self, error: tf.errors.OutOfRangeError) -> None:
        """Tells the others that there is no more data here, unless one of them has said so."""

    def ended(self, error: tf.errors.OpError) -> bool:
        """Whether another process broke this step off because its data ended."""
        return False


class Peers(NoPeers):
    """The loop's part in a team.

    Processes that update together end together: who wants to leave says so in the next step, and
    all of them read it there.

    Args:
        team: the other processes.
        program: whose steps are run.
        session: an open session.
        progress: of the loop.
    """

    active = True

    def __init__(
        self, team: Team, program: Program, session: tf.Session, progress: Progress
    ) -> None:
        assert program.team is not None
        self._team, self._session, self._progress = team, session, progress
        self._wish = program.team.wish
        self._apart = team.apart
        self._asked = False
        # Workers that do not wait for each other share the steps.
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
    """The loop's part in a team; in a team of one it has none."""
    return Peers(team, program, session, progress) if isinstance(team, Team) else NoPeers()
