"""Wrappers of gym 0.21 that change observations, actions and rewards, and the list of all games."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from moxing.legacy.face.faces import Faces
from moxing.legacy.libraries.gym import drawing, face

spaces = pytest.importorskip("gymnasium").spaces


@pytest.fixture(scope="module")
def gym() -> Any:
    return Faces(face.specs()).load("gym")


@pytest.fixture
def pictures(gym: Any) -> Any:
    """An environment of two steps whose observations are images of shape [4, 6, 3]."""

    class Pictures(gym.Env):
        observation_space = spaces.Box(0, 255, shape=(4, 6, 3), dtype=np.uint8)
        action_space = spaces.Box(-2.0, 4.0, shape=(1,), dtype=np.float32)

        def reset(self) -> Any:
            self.taken: list[Any] = []
            return self._picture()

        def step(self, action: Any) -> Any:
            self.taken.append(action)
            return self._picture(), 3.0, len(self.taken) == 2, {}

        def _picture(self) -> Any:
            rows = np.arange(4)[:, None, None] * 10 + len(self.taken)
            return np.broadcast_to(rows, (4, 6, 3)).astype(np.uint8)

    return Pictures()


def test_parts_of_a_dict_as_one_vector(gym: Any) -> None:
    class Goals(gym.Env):
        observation_space = spaces.Dict(
            {name: spaces.Box(-1.0, 1.0, shape=(2,), dtype=np.float32) for name in "abc"}
        )

        def reset(self) -> Any:
            return {name: np.full(2, at, np.float32) for at, name in enumerate("abc")}

    filtered = gym.wrappers.FilterObservation(Goals(), ["a", "c"])
    flat = gym.wrappers.FlattenObservation(filtered)
    assert list(filtered.reset()) == list(filtered.observation_space.spaces) == ["a", "c"]
    np.testing.assert_array_equal(flat.reset(), [0, 0, 2, 2])
    assert flat.observation_space.shape == (4,)
    with pytest.raises(ValueError, match=r"Missing keys: \['z'\]"):
        gym.wrappers.FilterObservation(Goals(), ["z"])


def test_images(gym: Any, pictures: Any) -> None:
    small = gym.wrappers.ResizeObservation(gym.wrappers.GrayScaleObservation(pictures), (2, 3))
    np.testing.assert_array_equal(small.reset()[..., 0], [[5] * 3, [25] * 3])
    stack = gym.wrappers.FrameStack(gym.wrappers.GrayScaleObservation(pictures), 3)
    first = stack.reset()
    second = stack.step(np.zeros(1))[0]
    assert (first.shape, len(first), stack.observation_space.shape) == ((3, 4, 6), 3, (3, 4, 6))
    assert np.asarray(first)[:, 1, 0].tolist() == [10, 10, 10]
    assert np.asarray(second)[:, 1, 0].tolist() == second[:, 1, 0].tolist() == [10, 10, 11]
    assert np.array(second, dtype=np.float32).dtype == np.float32


def test_actions_rewards_and_times(gym: Any, pictures: Any) -> None:
    clipped = gym.wrappers.ClipAction(pictures)
    clipped.reset()
    clipped.step(np.array([9.0]))
    assert pictures.taken == [np.array([4.0])]
    scaled = gym.wrappers.RescaleAction(pictures, -1, 1)
    counted = gym.wrappers.RecordEpisodeStatistics(
        gym.wrappers.TransformReward(scaled, lambda reward: reward / 10)
    )
    counted.reset()
    counted.step(np.array([0.0]))
    reward, done, info = counted.step(np.array([1.0]))[1:]
    assert [float(action[0]) for action in pictures.taken] == [1.0, 4.0]
    assert (reward, done, info["episode"]["l"]) == (0.3, True, 2)
    assert info["episode"]["r"] == pytest.approx(0.6)
    assert list(counted.length_queue) == [2]


def test_the_time_is_a_part_of_the_observation(gym: Any) -> None:
    timed = gym.wrappers.TimeAwareObservation(gym.make("CartPole-v0"))
    assert timed.reset()[-1] == 0.0
    assert timed.step(0)[0][-1] == 1.0
    assert timed.observation_space.shape == (5,)


def test_all_games_with_the_places_that_programs_read(gym: Any) -> None:
    own = gym.envs.registry.env_specs
    games = [each for each in gym.envs.registry.all() if each.id not in own]
    kinds = {each.id: each.entry_point for each in games}

    assert {each.split(".")[0] for each in kinds.values()} >= {"gym"}
    assert kinds["CartPole-v0"] == "gym.envs.classic_control:CartPoleEnv"
    assert kinds["Pendulum-v0"] == kinds["Pendulum-v1"] == "gym.envs.classic_control:PendulumEnv"
    assert kinds["Hopper-v1"] == kinds["Hopper-v2"] == "gym.envs.mujoco:HopperEnv"
    assert kinds["FrozenLake-v0"] == "gym.envs.toy_text:FrozenLakeEnv"


def test_modules_that_programs_import_at_their_top(gym: Any) -> None:
    faces = Faces(face.specs())
    assert gym.__version__ == faces.load("gym.version").VERSION
    assert faces.load("gym.envs.mujoco").__name__ == gym.envs.mujoco.__name__
    control = faces.load("gym.envs.classic_control")
    assert control.CartPoleEnv.__name__ == "CartPoleEnv"
    with pytest.raises(AttributeError, match=r"gym\.make\(name\)\.render\('rgb_array'\)"):
        _ = control.rendering.Viewer


def test_classes_of_games_have_the_methods_that_programs_call(
    gym: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "_has_display", lambda: False)
    control = gym.envs.classic_control
    assert control.cartpole.CartPoleEnv is control.CartPoleEnv

    class Heavy(control.CartPoleEnv):
        def step(self, action: Any) -> Any:
            observation, reward, done, info = super().step(action)
            return observation, 2 * reward, done, info

    env = Heavy()
    assert env.seed(0) == [0]
    np.testing.assert_allclose(env.reset(), gym_of_seed_0(gym), atol=1e-7)
    assert env.step(0)[1:] == (2.0, False, {})
    gym.register("Heavy-v0", entry_point=Heavy, max_episode_steps=3)
    made = gym.make("Heavy-v0")
    made.reset()
    assert [made.step(0)[2] for _ in range(3)] == [False, False, True]
    assert made.render(mode="human") is None
    lake = gym.envs.toy_text.FrozenLakeEnv(is_slippery=False)
    assert lake.reset() == 0
    assert lake.step(2)[:3] == (1, 0, False)


def gym_of_seed_0(gym: Any) -> Any:
    env = gym.make("CartPole-v0")
    env.seed(0)
    return env.reset()
