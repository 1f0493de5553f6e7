"""`gym.wrappers`: limits of time, and the monitor, which writes the statistics of episodes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from moxing.errors import MoxValueError
from moxing.legacy.libraries.gym.core import ObservationWrapper, Wrapper
from moxing.legacy.libraries.gym.notices import say_once


class TimeLimit(Wrapper):
    """Ends an episode after a number of steps; `info["TimeLimit.truncated"]` then says so."""

    def __init__(self, env: Any, max_episode_steps: int | None = None, **others: Any) -> None:
        super().__init__(env)
        del others
        if max_episode_steps is None and self.spec is not None:
            max_episode_steps = self.spec.max_episode_steps
        self._max_episode_steps = max_episode_steps
        self._elapsed_steps: int | None = None

    def step(self, action: Any) -> tuple[Any, Any, bool, dict[str, Any]]:
        """Takes one step.

        Raises:
            AssertionError: the environment was not reset.
        """
        assert self._elapsed_steps is not None, "Cannot call env.step() before calling env.reset()"
        observation, reward, done, info = self.env.step(action)
        self._elapsed_steps += 1
        if self._max_episode_steps is not None and self._elapsed_steps >= self._max_episode_steps:
            info = {**info, "TimeLimit.truncated": not done}
            done = True
        return observation, reward, done, info

    def reset(self, **kwargs: Any) -> Any:
        """Begins an episode."""
        self._elapsed_steps = 0
        return self.env.reset(**kwargs)


class Monitor(Wrapper):
    """Writes the reward, the length and the time of each episode to a JSON file; no videos.

    Args:
        env: the environment.
        directory: where `openaigym.episode_batch.*.stats.json` is written; made if it is missing.
        video_callable, mode: not used.
        force: whether a monitor's files that are there are deleted.
        resume: whether they stay.

    Raises:
        MoxValueError: there are such files, and neither force nor resume is given.
    """

    def __init__(
        self,
        env: Any,
        directory: str,
        video_callable: Any = None,
        force: bool = False,
        resume: bool = False,
        write_upon_reset: bool = False,
        uid: str | None = None,
        mode: str | None = None,
    ) -> None:
        super().__init__(env)
        del write_upon_reset, mode
        self.directory = os.path.abspath(directory)
        folder = Path(self.directory)
        folder.mkdir(parents=True, exist_ok=True)
        earlier = sorted(folder.glob("openaigym.*"))
        if earlier and not (force or resume):
            raise MoxValueError(
                f"gym.wrappers.Monitor: {folder} has files of an earlier monitor, such as"
                f" {earlier[0].name}: give force=True to delete them, or resume=True to keep them."
            )
        for path in earlier if force else ():
            path.unlink()
        name = f"openaigym.episode_batch.{uid or os.getpid()}.{len(earlier)}.stats.json"
        self._file = folder / name
        self._rewards: list[float] = []
        self._lengths: list[int] = []
        self._ends: list[float] = []
        self._start = time.time()
        if video_callable is not False:
            say_once("gym.wrappers.Monitor writes statistics of the episodes, but no videos.")

    def reset(self, **kwargs: Any) -> Any:
        """Begins an episode."""
        self._rewards.append(0.0)
        self._lengths.append(0)
        self._ends.append(time.time())
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> tuple[Any, Any, bool, dict[str, Any]]:
        """Takes one step and counts it."""
        observation, reward, done, info = self.env.step(action)
        if self._rewards:
            self._rewards[-1] += float(reward)
            self._lengths[-1] += 1
            self._ends[-1] = time.time()
        return observation, reward, done, info

    def get_episode_rewards(self) -> list[float]:
        """The sums of the rewards of the episodes."""
        return self._rewards

    def get_episode_lengths(self) -> list[int]:
        """The numbers of steps of the episodes."""
        return self._lengths

    def get_total_steps(self) -> int:
        """The number of all steps."""
        return sum(self._lengths)

    def close(self) -> None:
        """Writes the file and closes the environment."""
        facts = {
            "initial_reset_timestamp": self._start,
            "timestamps": self._ends,
            "episode_lengths": self._lengths,
            "episode_rewards": self._rewards,
        }
        self._file.write_text(json.dumps(facts), encoding="utf-8")
        self.env.close()


class FlattenDictWrapper(ObservationWrapper):
    """Shows parts of a dict of observations as one vector, in the order of `dict_keys`."""

    def __init__(self, env: Any, dict_keys: Sequence[str]) -> None:
        from gymnasium import spaces

        super().__init__(env)
        self.dict_keys = dict_keys
        parts = [env.observation_space.spaces[key] for key in dict_keys]
        size = sum(int(np.prod(part.shape)) for part in parts)
        self.observation_space = spaces.Box(-np.inf, np.inf, shape=(size,), dtype=np.float32)

    def observation(self, observation: Any) -> np.ndarray:
        """The vector, of shape [size]."""
        return np.concatenate([np.ravel(observation[key]) for key in self.dict_keys])
