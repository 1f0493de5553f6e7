"""The table of gym's names."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from typing import Any

from moxing.legacy.face import owned
from moxing.legacy.face.faces import Spec
from moxing.legacy.libraries.gym import classes
from moxing.legacy.libraries.gym.notices import say_once

_OWN = "moxing.legacy.libraries.gym"
_MONITORING = Spec(roots=(f"{_OWN}.wrappers",), names={"video_recorder": f"{_OWN}.video_recorder"})
_TRANSFORMS = (
    "clip_action",
    "filter_observation",
    "flatten_observation",
    "frame_stack",
    "gray_scale_observation",
    "record_episode_statistics",
    "rescale_action",
    "resize_observation",
    "time_aware_observation",
    "transform_observation",
    "transform_reward",
)
_WRAPPERS = Spec(
    roots=(f"{_OWN}.wrappers", f"{_OWN}.transforms"),
    names={
        "monitoring": _MONITORING,
        "monitor": f"{_OWN}.wrappers",
        "time_limit": f"{_OWN}.wrappers",
        **{name: f"{_OWN}.transforms" for name in _TRANSFORMS},
    },
    otherwise=" openmox shows gymnasium as gym, without this wrapper: define the wrapper in the"
    " program.",
)
_LOGGER = Spec(roots=(f"{_OWN}.tables", "gymnasium.logger"))
_RENDERING = (
    "gymnasium draws with pygame and has no Viewer: gym.make(name).render('rgb_array') returns the"
    " picture, which a program shows with matplotlib."
)
_ENVS = Spec(
    roots=("gymnasium.envs",),
    names={
        "registration": Spec(roots=(f"{_OWN}.making",)),
        "classic_control": classes.package("classic_control", gone={"rendering": _RENDERING}),
        "mujoco": Spec(roots=("gymnasium.envs.mujoco",), deep=True),
        "toy_text": classes.package("toy_text", discrete=f"{_OWN}.tables"),
        **{name: f"{_OWN}.making:{name}" for name in ("make", "register", "registry", "spec")},
    },
)


def specs() -> dict[str, Spec]:
    """gym, where gymnasium is installed; without it, an installed gym is shown as it is.

    A module of that name among the program's own modules is that module.
    """
    found = importlib.util.find_spec("gym")
    if found is not None and owned.owns(found.origin or ""):
        return {}
    if importlib.util.find_spec("gymnasium") is None:
        return {"gym": Spec(roots=("gym",), arrive=_arrive, library=True)} if found else {}
    return {
        "gym": Spec(
            names={
                "core": f"{_OWN}.core",
                "envs": _ENVS,
                "error": "gymnasium.error",
                "logger": _LOGGER,
                "spaces": Spec(roots=("gymnasium.spaces",), deep=True),
                "undo_logger_setup": f"{_OWN}.tables:undo_logger_setup",
                "utils": Spec(
                    roots=("gymnasium.utils",), names={"seeding": f"{_OWN}.seeding"}, deep=True
                ),
                "version": Spec(names={"VERSION": lambda: "0.21.0"}),
                "wrappers": _WRAPPERS,
                "Space": "gymnasium:Space",
                "__version__": lambda: "0.21.0",
                **{name: f"{_OWN}.core:{name}" for name in _CLASSES},
                **{name: f"{_OWN}.making:{name}" for name in ("make", "register", "spec")},
            },
            arrive=_use_python_integers,
            otherwise=" openmox shows gymnasium as gym, as gym was in its version 0.21.",
        )
    }


def _use_python_integers() -> None:
    """Has sizes and samples of `Discrete` be of the type int, which programs and tf.layers ask for.

    gymnasium makes them numpy.int64, which is no int.
    """
    from gymnasium import spaces

    kind: Any = spaces.Discrete
    if isinstance(vars(kind).get("n"), _Whole):
        return
    kind.n = _Whole()
    sample = kind.sample

    @functools.wraps(sample)
    def sampled(self: Any, *args: Any, **kwargs: Any) -> int:
        return int(sample(self, *args, **kwargs))

    kind.sample = sampled


class _Whole:
    """The attribute `n` of a space, as an int."""

    def __get__(self, space: Any, kind: type | None = None) -> Any:
        return self if space is None else int(vars(space)["n"])

    def __set__(self, space: Any, value: Any) -> None:
        vars(space)["n"] = value


def _arrive() -> None:
    """Says what to do where the only gym is the last release, whose `step` NumPy 2 ends."""
    import numpy

    if hasattr(importlib.import_module("gym").Env, "np_random") and not hasattr(numpy, "bool8"):
        say_once(
            "The installed gym is its last release, which does not run with NumPy 2. Install its"
            " successor, which the program then sees as the gym of 2016-2021: pip install gymnasium"
        )


_CLASSES = ("ActionWrapper", "Env", "GoalEnv", "ObservationWrapper", "RewardWrapper", "Wrapper")
