"""gym as programs of 2016 to 2021 know it, on gymnasium."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import pickle
import sys
import types
from typing import Any

import numpy as np
import pytest

from moxing.errors import MoxValueError
from moxing.legacy.face.faces import Faces
from moxing.legacy.libraries.gym import face, making

pytest.importorskip("gymnasium")

# The first state of gym 0.21's CartPole after env.seed(0), as its documentation prints it.
SEED_0 = [-0.04456399, 0.04653909, 0.01326909, -0.02099827]


@pytest.fixture(scope="module")
def gym() -> Any:
    return Faces(face.specs()).load("gym")


def test_an_environment_gives_one_value_and_four(gym: Any) -> None:
    env = gym.make("CartPole-v0")
    assert env.seed(0) == [0]
    np.testing.assert_allclose(env.reset(), SEED_0, atol=1e-7)
    results = [env.step(0)]
    while not results[-1][2]:
        results.append(env.step(0))
    observation, reward, done, info = results[-1]
    assert (observation.shape, reward, done, info) == ((4,), 1.0, True, {})
    assert len(results) < 15  # The pole falls.
    assert (env.spec.id, env._max_episode_steps) == ("CartPole-v0", 200)


def test_the_limit_of_time_is_a_wrapper_that_programs_change(gym: Any) -> None:
    env = gym.make("MountainCar-v0")
    env._max_episode_steps = 3
    env.reset()
    ends = [env.step(1)[2:] for _ in range(3)]
    assert ends == [(False, {}), (False, {}), (True, {"TimeLimit.truncated": True})]

    free = env.unwrapped
    assert not hasattr(free, "_max_episode_steps")
    free.state = np.array([0.3, 0.01])
    assert free.step(1)[0][0] > 0.3
    assert free.goal_position == 0.5


def test_a_version_that_is_gone_is_the_next_and_is_named(gym: Any, caplog: Any) -> None:
    env = gym.make("Pendulum-v0")
    assert (env.spec.id, env.reset().shape) == ("Pendulum-v0", (3,))
    assert any("'Pendulum-v0' makes" in text or "Pendulum-v1" in text for text in caplog.messages)
    for gone, today in (("Hopper-v1", "Hopper-v4"), ("Hopper-v2", "Hopper-v4"), ("Taxi-v4",) * 2):
        assert making._todays(gone) == today  # Without MuJoCo, which makes the environment.
    with pytest.raises(gym.error.Error, match="Nope"):
        gym.make("Nope-v0")
    with pytest.raises(gym.error.Error, match="CartPole"):
        gym.make("CartPole-v7")


def test_the_games_of_atari_are_in_a_package_of_their_own(gym: Any, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(gym.error.NameNotFound, match="pip install ale-py"):
        gym.make("NoGameOfThisName-v0")


@pytest.mark.parametrize("before_0_9", [False, True])
def test_classes_of_both_times_work(gym: Any, before_0_9: bool) -> None:
    mark = "_" if before_0_9 else ""

    def step(self: Any, action: Any) -> Any:
        self.count += 1
        return np.full(2, self.count), 1.0, self.count == 9, {}

    def reset(self: Any) -> Any:
        self.count = 0
        return np.zeros(2)

    def doubled(self: Any, action: Any) -> Any:
        observation, reward, done, info = self.env.step(action)
        return observation, 2 * reward, done, info

    own = type("Own", (gym.Env,), {f"{mark}step": step, f"{mark}reset": reset})
    double = type("Double", (gym.Wrapper,), {f"{mark}step": doubled})
    shift = type("Shift", (gym.ObservationWrapper,), {f"{mark}observation": lambda self, o: o + 10})
    flip = type("Flip", (gym.ActionWrapper,), {f"{mark}action": lambda self, a: 1 - a})
    less = type("Less", (gym.RewardWrapper,), {f"{mark}reward": lambda self, r: r - 0.5})
    gym.envs.registration.register("Own-v0", entry_point=own, tags={
        "wrapper_config.TimeLimit.max_episode_steps": 4
    })  # fmt: skip
    env = less(double(shift(flip(gym.make("Own-v0")))))
    assert env.reset().tolist() == [10, 10]
    taken = [env.step(0) for _ in range(4)]
    assert [each[0].tolist() for each in taken] == [[11, 11], [12, 12], [13, 13], [14, 14]]
    assert [each[1:3] for each in taken] == [(1.5, False)] * 3 + [(1.5, True)]
    assert isinstance(env.unwrapped, own)
    assert env.count == 4
    with pytest.raises(AssertionError, match="reset"):
        gym.make("Own-v0").step(0)
    with pytest.raises(NotImplementedError, match="Bare defines no step"):
        type("Bare", (gym.Env,), {})().step(0)


def test_environments_of_gym_are_registered_anew(gym: Any) -> None:
    gym.envs.register(
        id="LongCartPole-v0",
        entry_point="gym.envs.classic_control:CartPoleEnv",
        max_episode_steps=2000,
    )
    env = gym.make("LongCartPole-v0")
    env.seed(0)
    np.testing.assert_allclose(env.reset(), SEED_0, atol=1e-7)
    assert env.spec.max_episode_steps == 2000
    assert "LongCartPole-v0" in {spec.id for spec in gym.envs.registry.all()}


def test_the_monitor_writes_the_episodes(gym: Any, tmp_path: Any) -> None:
    env = gym.wrappers.Monitor(gym.make("CartPole-v0"), str(tmp_path / "out"))
    for _ in range(2):
        env.reset()
        while not env.step(1)[2]:
            pass
    env.close()
    path = next((tmp_path / "out").glob("openaigym.*"))
    facts = json.loads(path.read_text())
    assert facts["episode_rewards"] == facts["episode_lengths"] == env.get_episode_rewards()
    assert len(facts["episode_lengths"]) == 2
    assert sum(facts["episode_lengths"]) == env.get_total_steps() > 10
    with pytest.raises(MoxValueError, match="force=True"):
        gym.wrappers.Monitor(gym.make("CartPole-v0"), str(tmp_path / "out"))
    gym.wrappers.Monitor(gym.make("CartPole-v0"), str(tmp_path / "out"), force=True)
    assert not path.exists()


def test_a_dict_of_observations_becomes_a_vector(gym: Any) -> None:
    box = gym.spaces.Box(-1, 1, shape=(2,))

    class Reach(gym.GoalEnv):
        observation_space = gym.spaces.Dict({"observation": box, "desired_goal": box})

        def reset(self) -> Any:
            return {"observation": np.array([1, 2]), "desired_goal": np.array([3, 4])}

    env = gym.wrappers.FlattenDictWrapper(Reach(), ["desired_goal", "observation"])
    assert env.reset().tolist() == [3, 4, 1, 2]
    assert env.observation_space.shape == (4,)


def test_tables_and_seeds(gym: Any) -> None:
    discrete = gym.envs.toy_text.discrete
    chances = {
        0: {0: [(0.25, 0, 0.0, False), (0.75, 1, -1.0, True)]},
        1: {0: [(1.0, 1, 0.0, True)]},
    }
    env = discrete.DiscreteEnv(2, 1, chances, [1.0, 0.0])
    ends = [(env.reset(), env.step(0)[0])[1] for _ in range(400)]
    assert 0.65 < np.mean(ends) < 0.85
    assert (env.action_space.n, env.observation_space.n) == (1, 2)

    generator, seed = gym.utils.seeding.np_random(0)
    np.testing.assert_allclose(generator.uniform(-0.05, 0.05, 4), SEED_0, atol=1e-7)
    assert seed == 0
    assert gym.utils.seeding.np_random()[1] != gym.utils.seeding.np_random()[1]
    with pytest.raises(MoxValueError, match="-1"):
        gym.utils.seeding.np_random(-1)
    gym.logger.set_level(40)
    gym.undo_logger_setup()


def test_without_a_display_nothing_is_shown(gym: Any, monkeypatch: Any) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    env = gym.make("CartPole-v0")
    env.reset()
    assert env.render() is None
    assert env.render(close=True) is None


def test_a_gym_that_ends_at_its_first_step_says_what_to_install(
    monkeypatch: Any, caplog: Any
) -> None:
    real = types.ModuleType("gym")
    real.Env = type("Env", (), {"np_random": 0})  # type: ignore[attr-defined]
    real.__spec__ = importlib.machinery.ModuleSpec("gym", None)
    monkeypatch.setitem(sys.modules, "gym", real)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "gymnasium" else find(name)
    )
    shown = Faces(face.specs()).load("gym")
    assert shown.Env is real.Env
    assert "pip install gymnasium" in caplog.text
    monkeypatch.delitem(sys.modules, "gym")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert face.specs() == {}


def test_a_folder_of_the_programs_own_is_not_hidden(monkeypatch: Any, tmp_path: Any) -> None:
    (tmp_path / "gym").mkdir()
    (tmp_path / "gym" / "__init__.py").write_text("x = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "gym", raising=False)
    assert face.specs() == {}


def test_sizes_and_samples_are_python_integers(gym: Any) -> None:
    space = gym.spaces.Discrete(np.int64(3))
    assert type(space.n) is int
    assert space.n == 3
    assert {type(space.sample()) for _ in range(5)} == {int}
    assert space == gym.spaces.Discrete(3)
    assert pickle.loads(pickle.dumps(space)) == space
    assert type(gym.make("CartPole-v0").action_space.n) is int
