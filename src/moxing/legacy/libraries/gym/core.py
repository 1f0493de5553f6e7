"""Environments and wrappers of gym until 0.25: `reset` gives one value, `step` four.

Until gym 0.9, a class defined `_step`, `_reset`, `_render`, `_close` and `_seed`; later classes
define the names without `_`. Classes of both times work.
"""

from __future__ import annotations

from typing import Any, ClassVar


class Env:
    """Base class of environments.

    Attributes:
        action_space, observation_space: spaces.
        reward_range: the least and the greatest reward.
        metadata: "render.modes" lists the modes of `render`.
        spec: the `EnvSpec` that the environment was made by.
    """

    metadata: ClassVar[Any] = {"render.modes": []}
    reward_range = (-float("inf"), float("inf"))
    spec: Any = None
    action_space: Any = None
    observation_space: Any = None

    def step(self, action: Any) -> tuple[Any, Any, bool, dict[str, Any]]:
        """Takes one step: the observation, the reward, whether the episode is over, and facts."""
        return self._step(action)

    def reset(self, **kwargs: Any) -> Any:
        """Begins an episode and returns its first observation."""
        return self._reset(**kwargs)

    def render(self, mode: str = "human", **kwargs: Any) -> Any:
        """Shows the environment, or returns an image for the mode "rgb_array"."""
        return self._render(mode, **kwargs)

    def close(self) -> None:
        """Frees what the environment holds."""
        self._close()

    def seed(self, seed: Any = None) -> Any:
        """Seeds the environment's random numbers; returns the seeds used."""
        return self._seed(seed)

    def _step(self, action: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no step(action).")

    def _reset(self, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no reset().")

    def _render(self, mode: str = "human", **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no render(mode).")

    def _close(self) -> None: ...

    def _seed(self, seed: Any = None) -> Any:
        return []

    @property
    def unwrapped(self) -> Any:
        """The environment inside of all wrappers."""
        return self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __str__(self) -> str:
        named = f"<{self.spec.id}>" if self.spec is not None else " instance"
        return f"<{type(self).__name__}{named}>"


class GoalEnv(Env):
    """An environment whose observations are a dict of an observation and two goals."""

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """The reward for a goal that was reached beside the one that was desired."""
        raise NotImplementedError(f"{type(self).__name__} defines no compute_reward.")


class Wrapper(Env):
    """Base class of wrappers: has everything of the environment inside, `env`."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.action_space = env.action_space
        self.observation_space = env.observation_space
        self.reward_range = env.reward_range
        self.metadata = env.metadata  # type: ignore[misc]
        self.spec = getattr(env, "spec", None)

    def __getattr__(self, name: str) -> Any:
        # A wrapper that is not initialized yet, as while a pickle is loaded, has no `env`.
        if name.startswith("__") or "env" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.env, name)

    def _step(self, action: Any) -> Any:
        return self.env.step(action)

    def _reset(self, **kwargs: Any) -> Any:
        return self.env.reset(**kwargs)

    def _render(self, mode: str = "human", **kwargs: Any) -> Any:
        return self.env.render(mode, **kwargs)

    def _close(self) -> None:
        self.env.close()

    def _seed(self, seed: Any = None) -> Any:
        return self.env.seed(seed)

    @property
    def unwrapped(self) -> Any:
        """The environment inside of all wrappers."""
        return self.env.unwrapped

    def __str__(self) -> str:
        return f"<{type(self).__name__}{self.env}>"

    __repr__ = __str__


class ObservationWrapper(Wrapper):
    """Base class of wrappers that define `observation(observation)`."""

    def _reset(self, **kwargs: Any) -> Any:
        return self.observation(self.env.reset(**kwargs))

    def _step(self, action: Any) -> Any:
        observation, reward, done, info = self.env.step(action)
        return self.observation(observation), reward, done, info

    def observation(self, observation: Any) -> Any:
        """Returns the observation that the wrapper shows in place of the given observation."""
        return self._observation(observation)

    def _observation(self, observation: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no observation(observation).")


class RewardWrapper(Wrapper):
    """Base class of wrappers that define `reward(reward)`."""

    def _step(self, action: Any) -> Any:
        observation, reward, done, info = self.env.step(action)
        return observation, self.reward(reward), done, info

    def reward(self, reward: Any) -> Any:
        """What the wrapper makes of a reward."""
        return self._reward(reward)

    def _reward(self, reward: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no reward(reward).")


class ActionWrapper(Wrapper):
    """Base class of wrappers that define `action(action)`."""

    def _step(self, action: Any) -> Any:
        return self.env.step(self.action(action))

    def action(self, action: Any) -> Any:
        """The inner environment's action for an action."""
        return self._action(action)

    def _action(self, action: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no action(action).")

    def reverse_action(self, action: Any) -> Any:
        """The action for an action of the inner environment."""
        return self._reverse_action(action)

    def _reverse_action(self, action: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no reverse_action(action).")
