"""`gym.make` and the registry: environments of the program, and gymnasium's with gym's methods."""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from moxing.legacy.libraries.gym import drawing, seeding
from moxing.legacy.libraries.gym.classes import Old
from moxing.legacy.libraries.gym.core import Env
from moxing.legacy.libraries.gym.notices import say_once
from moxing.legacy.libraries.gym.wrappers import TimeLimit

_LIMIT_TAG = "wrapper_config.TimeLimit.max_episode_steps"
_OWN = ("_env", "_seed_of_next", "spec")


@dataclass
class EnvSpec:
    """How an environment is made.

    Attributes:
        id: its name, such as "CartPole-v0".
        entry_point: "module:Class", or what makes the environment.
        max_episode_steps: the steps after which an episode is over; None: no limit.
        reward_threshold: the mean reward at which the task counts as solved.
        nondeterministic: whether it is random even with a seed.
        kwargs: arguments of the entry point.
        tags: other facts.
    """

    id: str
    entry_point: Any = None
    max_episode_steps: int | None = None
    reward_threshold: float | None = None
    nondeterministic: bool = False
    kwargs: dict[str, Any] = field(default_factory=dict)
    tags: dict[str, Any] = field(default_factory=dict)

    @property
    def timestep_limit(self) -> int | None:
        """The limit's name until gym 0.9."""
        return self.max_episode_steps

    def make(self, **kwargs: Any) -> Any:
        """Makes the environment."""
        return make(self.id, **kwargs)


class Registry:
    """The environments that the program registered, before those of gymnasium."""

    def __init__(self) -> None:
        self.env_specs: dict[str, EnvSpec] = {}

    def all(self) -> list[EnvSpec]:
        """The specifications of all environments, with the versions that `make` replaces."""
        others = {name: now for name, now in _names().items() if name not in self.env_specs}
        return [*self.env_specs.values(), *(_described(now, name) for name, now in others.items())]

    def spec(self, path: str) -> EnvSpec:
        """The specification of an environment.

        Raises:
            gymnasium.error.UnregisteredEnv: there is none of that name.
        """
        return self.env_specs.get(path) or _described(_todays(path), path)

    def make(self, path: str, **kwargs: Any) -> Any:
        """`gym.make`."""
        return make(path, **kwargs)

    def register(self, id: str, **kwargs: Any) -> None:
        """`gym.envs.registration.register`."""
        register(id, **kwargs)

    def __contains__(self, name: str) -> bool:
        import gymnasium

        return name in self.env_specs or name in gymnasium.registry

    def __iter__(self) -> Iterator[str]:
        return iter(spec.id for spec in self.all())


registry = Registry()


def register(
    id: str,
    entry_point: Any = None,
    max_episode_steps: int | None = None,
    reward_threshold: float | None = None,
    nondeterministic: bool = False,
    kwargs: dict[str, Any] | None = None,
    tags: dict[str, Any] | None = None,
    timestep_limit: int | None = None,
    **others: Any,
) -> None:
    """Registers an environment; an environment of the same name is replaced."""
    del others
    tags = tags or {}
    limit = max_episode_steps or timestep_limit or tags.get(_LIMIT_TAG)
    registry.env_specs[id] = EnvSpec(
        id, entry_point, limit, reward_threshold, nondeterministic, kwargs or {}, tags
    )


def spec(id: str) -> EnvSpec:
    """`gym.spec`."""
    return registry.spec(id)


def make(id: str, **kwargs: Any) -> Any:
    """Makes an environment with the `reset` and `step` of gym until 0.25.

    Raises:
        gymnasium.error.UnregisteredEnv: there is no environment of that name.
    """
    own = registry.env_specs.get(id)
    if own is None:
        import gymnasium

        today = _todays(id)
        found = _described(today, id)
        # The limit is a wrapper of its own, which programs change by `env._max_episode_steps`.
        made = gymnasium.make(today, max_episode_steps=-1, disable_env_checker=True, **kwargs)
        env: Any = Today(made.unwrapped)
    else:
        found = own
        env = _made(own, kwargs)
    env.unwrapped.spec = found
    return env if found.max_episode_steps is None else TimeLimit(env, found.max_episode_steps)


def _made(spec: EnvSpec, kwargs: dict[str, Any]) -> Any:
    """An environment that the program registered."""
    entry: Any = spec.entry_point
    if isinstance(entry, str):
        module, _, name = entry.partition(":")
        # Environments of gym itself are gymnasium's.
        entry = importlib.import_module(re.sub(r"^gym(?=\.|$)", "gymnasium", module))
        for part in name.split("."):
            entry = getattr(entry, part)
    env = entry(**{**spec.kwargs, **kwargs})
    return adapted(env)


def adapted(env: Any) -> Any:
    """An environment of gymnasium with the methods of gym; any other environment as it is."""
    import gymnasium

    if isinstance(env, Old) or not isinstance(env, gymnasium.Env):
        return env
    return Today(env)


def _todays(path: str) -> str:
    """The name in gymnasium of an environment of gym: its version may be the next that is left."""
    import gymnasium

    if path not in gymnasium.registry and not _add_atari():
        _explain_atari(path)
    if path in gymnasium.registry and isinstance(gymnasium.registry[path].entry_point, str):
        return path
    stem, _, version = path.rpartition("-v")
    versions = {
        int(spec.version or 0): name
        for name, spec in gymnasium.registry.items()
        # Versions that are gone raise an error where others name a class.
        if spec.name == stem and spec.namespace is None and isinstance(spec.entry_point, str)
    }
    later = [number for number in versions if not version.isdigit() or number > int(version)]
    if not later:
        gymnasium.spec(path)  # Raises an error with the names that are near.
    name = versions[min(later)]
    say_once(
        f"gym.make({path!r}) makes {name!r}: gymnasium {gymnasium.__version__} no longer has that"
        " version of this environment, and rewards or limits may differ."
    )
    return name


def _names() -> dict[str, str]:
    """For each name that `make` takes, of gym's time or ours, the name in gymnasium."""
    import gymnasium

    _add_atari()
    found: dict[str, str] = {}
    for name, spec in sorted(gymnasium.registry.items(), key=lambda item: item[1].version or 0):
        if spec.namespace is not None or not isinstance(spec.entry_point, str):
            continue  # Versions that are gone raise an error where others name a class.
        for version in range(spec.version or 0):
            found.setdefault(f"{spec.name}-v{version}", name)
        found[name] = name
    return found


def _place(entry_point: Any) -> Any:
    """The text that gym had for a class of gymnasium: programs read the kind of game in it."""
    if not isinstance(entry_point, str):
        return entry_point
    module, _, kind = entry_point.partition(":")
    if module.startswith("ale_py"):
        return f"gym.envs.atari:{kind}"
    parts = module.split(".")
    return f"gym.envs.{parts[2]}:{kind}" if parts[:2] == ["gymnasium", "envs"] else entry_point


def _add_atari() -> bool:
    """Registers the games of Atari; returns whether their package is installed."""
    import gymnasium

    with contextlib.suppress(ImportError):
        gymnasium.register_envs(importlib.import_module("ale_py"))
        return True
    return False


def _explain_atari(path: str) -> None:
    """Raises an error for a name of which gymnasium has no version, without the games of Atari."""
    import gymnasium

    stem = path.rpartition("-v")[0]
    if all(spec.name != stem for spec in gymnasium.registry.values()):
        raise gymnasium.error.NameNotFound(
            f"gymnasium has no environment {path!r}. The games of Atari are in a package of their"
            " own: pip install ale-py."
        )


def _described(name: str, shown: str) -> EnvSpec:
    """gymnasium's specification of an environment, under the name that the program knows."""
    import gymnasium

    real = gymnasium.spec(name)
    return EnvSpec(
        shown,
        _place(real.entry_point),
        real.max_episode_steps,
        real.reward_threshold,
        real.nondeterministic,
        dict(real.kwargs),
    )


class Today(Env):
    """An environment of gymnasium with the methods of gym.

    All else is read from, and written to, the environment itself, so that a program sees and sets
    its `state`.
    """

    def __init__(self, env: Any) -> None:
        self._env = env
        self._seed_of_next: int | None = None

    action_space = property(lambda self: self._env.action_space)
    observation_space = property(lambda self: self._env.observation_space)
    metadata = property(lambda self: {**self._env.metadata, "render.modes": self._modes()})  # type: ignore

    def _modes(self) -> list[str]:
        return list(self._env.metadata.get("render_modes", ()))

    def step(self, action: Any) -> tuple[Any, Any, bool, dict[str, Any]]:
        """Takes one step; an episode that gymnasium calls truncated is over too."""
        observation, reward, terminated, truncated, info = self._env.step(action)
        if truncated and not terminated:
            info = {**info, "TimeLimit.truncated": True}
        return observation, reward, bool(terminated or truncated), info

    def reset(self, **kwargs: Any) -> Any:
        """Begins an episode."""
        seed, self._seed_of_next = self._seed_of_next, None
        observation, _ = self._env.reset(seed=seed, **kwargs)
        return observation

    def seed(self, seed: Any = None) -> list[int]:
        """Seeds the environment: gym's own draw the numbers that they drew with gym."""
        generator, seed = seeding.np_random(seed)
        if type(self._env).__module__.startswith("gymnasium."):
            self._env.np_random = generator
        else:
            self._seed_of_next = seed
        return [seed]

    def render(self, mode: str = "human", close: bool = False, **kwargs: Any) -> Any:
        """Shows the environment, or returns an image for the mode "rgb_array"."""
        del kwargs
        if close:
            return self._env.close()
        return drawing.drawn(self._env, self._env.render, mode)

    def close(self) -> None:
        """Frees what the environment holds."""
        self._env.close()

    def __getattr__(self, name: str) -> Any:
        if name in _OWN or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._env, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN:
            object.__setattr__(self, name, value)
        else:
            setattr(self._env, name, value)
