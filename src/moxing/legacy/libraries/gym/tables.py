"""`gym.envs.toy_text.discrete`: environments that are tables, and `gym.logger`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from moxing.legacy.libraries.gym import seeding
from moxing.legacy.libraries.gym.core import Env


def categorical_sample(prob_n: Any, np_random: np.random.RandomState) -> int:
    """A place of a list, drawn by the probabilities of the places."""
    return int((np.cumsum(np.asarray(prob_n)) > np_random.rand()).argmax())


class DiscreteEnv(Env):
    """An environment of numbered states and actions.

    Args:
        nS, nA: the numbers of states and of actions.
        P: for a state and an action, a list of (probability, next state, reward, done).
        isd: the probabilities of the first state, of shape [nS].
    """

    def __init__(self, nS: int, nA: int, P: Any, isd: Sequence[float]) -> None:
        from gymnasium import spaces

        self.P, self.isd, self.nS, self.nA = P, isd, nS, nA
        self.lastaction: Any = None
        self.action_space = spaces.Discrete(nA)
        self.observation_space = spaces.Discrete(nS)
        self.seed()
        self.s = categorical_sample(isd, self.np_random)

    def seed(self, seed: Any = None) -> list[int]:
        """Seeds the environment's random numbers."""
        self.np_random, seed = seeding.np_random(seed)
        return [seed]

    def reset(self) -> int:
        """Draws the first state."""
        self.s, self.lastaction = categorical_sample(self.isd, self.np_random), None
        return self.s

    def step(self, action: Any) -> tuple[int, Any, bool, dict[str, Any]]:
        """Draws one of the transitions of the state and the action."""
        transitions = self.P[self.s][action]
        drawn = categorical_sample([each[0] for each in transitions], self.np_random)
        probability, self.s, reward, done = transitions[drawn]
        self.lastaction = action
        return int(self.s), reward, done, {"prob": probability}


def set_level(level: int) -> None:
    """`gym.logger.set_level`: the least level, of `logging`, whose messages are shown."""
    from gymnasium import logger

    logger.min_level = level


setLevel = set_level
MIN_LEVEL = logging.WARNING
DEBUG, INFO, WARN = logging.DEBUG, logging.INFO, logging.WARNING
ERROR, DISABLED = logging.ERROR, logging.CRITICAL + 10


def undo_logger_setup() -> None:
    """Does nothing: gym's messages no longer change the program's own logging."""
