"""Classes of gym's own environments, with the methods that they had: programs derive from them."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from moxing.legacy.face.faces import Spec
from moxing.legacy.libraries.gym import drawing, seeding

_OWN = "moxing.legacy.libraries.gym"
# Package of environments -> module -> its classes.
_CLASSES = {
    "classic_control": {
        "acrobot": ("AcrobotEnv",),
        "cartpole": ("CartPoleEnv",),
        "continuous_mountain_car": ("Continuous_MountainCarEnv",),
        "mountain_car": ("MountainCarEnv",),
        "pendulum": ("PendulumEnv",),
    },
    "toy_text": {
        "blackjack": ("BlackjackEnv",),
        "cliffwalking": ("CliffWalkingEnv",),
        "frozen_lake": ("FrozenLakeEnv",),
        "taxi": ("TaxiEnv",),
    },
}


def package(name: str, gone: dict[str, str] | None = None, **names: Any) -> Spec:
    """`gym.envs.classic_control` or `gym.envs.toy_text`.

    Args:
        name: the package's name.
        gone: names that gymnasium lacks, with what to do.
        names: other names of the package.
    """
    real = f"gymnasium.envs.{name}"
    modules, classes = {}, {}
    for module, kinds in _CLASSES[name].items():
        own = {kind: _getter(f"{real}.{module}", kind) for kind in kinds}
        modules[module] = Spec(roots=(f"{real}.{module}",), names=own)
        classes.update(own)
    return Spec(roots=(real,), names={**classes, **modules, **names}, gone=gone or {}, deep=True)


def _getter(module: str, kind: str) -> Any:
    return lambda: of_old(getattr(importlib.import_module(module), kind))


class Old:
    """Marks the classes that have gym's methods, apart from those of gymnasium."""


@functools.cache
def of_old(kind: Any) -> type:
    """The class with gym's methods: `reset` gives one value, `step` four."""

    class Environment(kind, Old):
        reward_range = (-float("inf"), float("inf"))
        metadata = {**kind.metadata, "render.modes": list(kind.metadata.get("render_modes", ()))}

        def step(self, action: Any) -> Any:
            """Takes one step; an episode that gymnasium calls truncated is over too."""
            observation, reward, terminated, truncated, info = super().step(action)
            return observation, reward, bool(terminated or truncated), info

        def reset(self, **kwargs: Any) -> Any:
            """Begins an episode and returns its first observation."""
            return super().reset(**kwargs)[0]

        def seed(self, seed: Any = None) -> list[int]:
            """Seeds the environment's random numbers."""
            self.np_random, seed = seeding.np_random(seed)
            return [seed]

        def render(self, mode: str = "human", **kwargs: Any) -> Any:
            """Shows the environment, or returns an image for the mode "rgb_array"."""
            del kwargs
            return drawing.drawn(self, super().render, mode)

    Environment.__name__ = Environment.__qualname__ = kind.__name__
    Environment.__module__ = kind.__module__.replace("gymnasium.", "gym.", 1)
    Environment.__doc__ = kind.__doc__
    return Environment
