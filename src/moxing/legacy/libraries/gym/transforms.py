"""`gym.wrappers` that change observations, actions and rewards, as gym 0.21 had them."""

from __future__ import annotations

import collections
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from moxing.legacy.libraries.gym.core import (
    ActionWrapper,
    ObservationWrapper,
    RewardWrapper,
    Wrapper,
)


class FlattenObservation(ObservationWrapper):
    """Shows observations of any space as one vector."""

    def __init__(self, env: Any) -> None:
        from gymnasium import spaces

        super().__init__(env)
        self.observation_space = spaces.flatten_space(env.observation_space)

    def observation(self, observation: Any) -> Any:
        """The vector, of the shape of `observation_space`."""
        from gymnasium import spaces

        return spaces.flatten(self.env.observation_space, observation)


class FilterObservation(ObservationWrapper):
    """Shows some entries of a dict of observations.

    Args:
        env: an environment whose observations are a dict.
        filter_keys: the keys of the entries; None for all.

    Raises:
        ValueError: there is no such key.
    """

    def __init__(self, env: Any, filter_keys: Sequence[str] | None = None) -> None:
        from gymnasium import spaces

        super().__init__(env)
        inner = env.observation_space
        assert isinstance(inner, spaces.Dict), "FilterObservationWrapper is only usable with dict"
        keys = list(inner.spaces) if filter_keys is None else list(filter_keys)
        missing = [key for key in keys if key not in inner.spaces]
        if missing:
            raise ValueError(
                f"All the filter_keys must be included in the original obsrevation space.\n"
                f"Filter keys: {keys}\nObservation keys: {list(inner.spaces)}\n"
                f"Missing keys: {missing}"
            )
        self._filter_keys = keys
        shown = {name: space for name, space in inner.spaces.items() if name in keys}
        self.observation_space = spaces.Dict(shown)

    def observation(self, observation: Any) -> Any:
        """A dict of these entries, in their order in the environment."""
        shown = ((name, each) for name, each in observation.items() if name in self._filter_keys)
        return collections.OrderedDict(shown)


class TransformObservation(ObservationWrapper):
    """Shows the value of a function in place of each observation."""

    def __init__(self, env: Any, f: Callable[[Any], Any]) -> None:
        super().__init__(env)
        assert callable(f)
        self.f = f

    def observation(self, observation: Any) -> Any:
        """The function's value."""
        return self.f(observation)


class TransformReward(RewardWrapper):
    """Gives the value of a function in place of each reward."""

    def __init__(self, env: Any, f: Callable[[Any], Any]) -> None:
        super().__init__(env)
        assert callable(f)
        self.f = f

    def reward(self, reward: Any) -> Any:
        """The function's value."""
        return self.f(reward)


class ClipAction(ActionWrapper):
    """Moves actions into the bounds of the action space, a `Box`."""

    def action(self, action: Any) -> Any:
        """The nearest action within the bounds."""
        return np.clip(action, self.action_space.low, self.action_space.high)


class RescaleAction(ActionWrapper):
    """Takes actions from a to b, and spreads them over the action space, a `Box`."""

    def __init__(self, env: Any, a: Any, b: Any) -> None:
        from gymnasium import spaces

        super().__init__(env)
        inner = env.action_space
        assert isinstance(inner, spaces.Box), f"expected Box action space, got {type(inner)}"
        assert np.less_equal(a, b).all(), (a, b)
        self.a = np.zeros(inner.shape, dtype=inner.dtype) + a
        self.b = np.zeros(inner.shape, dtype=inner.dtype) + b
        self.action_space = spaces.Box(low=a, high=b, shape=inner.shape, dtype=inner.dtype)  # type: ignore[arg-type]

    def action(self, action: Any) -> Any:
        """The action between the bounds of the environment."""
        low, high = self.env.action_space.low, self.env.action_space.high
        return np.clip(low + (high - low) * ((action - self.a) / (self.b - self.a)), low, high)


class TimeAwareObservation(ObservationWrapper):
    """Adds the number of steps of the episode to observations that are vectors."""

    def __init__(self, env: Any) -> None:
        from gymnasium import spaces

        super().__init__(env)
        inner = env.observation_space
        assert isinstance(inner, spaces.Box)
        self.observation_space = spaces.Box(
            np.append(inner.low, 0.0), np.append(inner.high, np.inf), dtype=np.float32
        )
        self.t = 0

    def observation(self, observation: Any) -> Any:
        """The vector with the number of steps behind it."""
        return np.append(observation, self.t)

    def _step(self, action: Any) -> Any:
        self.t += 1
        return super()._step(action)

    def _reset(self, **kwargs: Any) -> Any:
        self.t = 0
        return super()._reset(**kwargs)


class GrayScaleObservation(ObservationWrapper):
    """Shows images of shape [height, width, 3] in gray, with a channel where `keep_dim` is true."""

    def __init__(self, env: Any, keep_dim: bool = False) -> None:
        from gymnasium import spaces

        super().__init__(env)
        self.keep_dim = keep_dim
        shape = env.observation_space.shape
        assert (len(shape), shape[-1]) == (3, 3), shape
        shown = (*shape[:2], 1) if keep_dim else shape[:2]
        self.observation_space = spaces.Box(low=0, high=255, shape=shown, dtype=np.uint8)

    def observation(self, observation: Any) -> Any:
        """The image in gray, uint8, by the weights of ITU-R 601."""
        gray = np.asarray(observation, np.float64) @ np.array([0.299, 0.587, 0.114])
        gray = np.round(gray).astype(np.uint8)
        return gray[..., np.newaxis] if self.keep_dim else gray


class ResizeObservation(ObservationWrapper):
    """Shows images in another size; each pixel is the mean of the pixels that it stands for.

    Args:
        env: an environment whose observations are images of type uint8.
        shape: the height and the width, or a number for both.
    """

    def __init__(self, env: Any, shape: Any) -> None:
        from gymnasium import spaces

        super().__init__(env)
        self.shape = (shape, shape) if isinstance(shape, int) else tuple(shape)
        assert all(size > 0 for size in self.shape), shape
        shown = self.shape + env.observation_space.shape[2:]
        self.observation_space = spaces.Box(low=0, high=255, shape=shown, dtype=np.uint8)

    def observation(self, observation: Any) -> Any:
        """The image of that size, with a channel even where there is only one."""
        from PIL import Image

        image = np.asarray(observation)
        planes = image.reshape(*image.shape[:2], -1)
        size = (self.shape[1], self.shape[0])
        resized = [
            np.asarray(Image.fromarray(planes[..., each]).resize(size, Image.Resampling.BOX))
            for each in range(planes.shape[-1])
        ]
        return np.stack(resized, axis=-1)


class LazyFrames:
    """The last observations as one array, made when it is asked for; each is kept once."""

    def __init__(self, frames: list[Any], lz4_compress: bool = False) -> None:
        del lz4_compress
        self._frames = frames
        self.frame_shape = tuple(frames[0].shape)
        self.shape = (len(frames), *self.frame_shape)
        self.dtype = frames[0].dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        del copy
        whole = np.stack(self._frames, axis=0)
        return whole if dtype is None else whole.astype(dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        return np.asarray(self)[index]

    def __eq__(self, other: object) -> Any:
        return np.asarray(self) == other

    __hash__ = None  # type: ignore[assignment]


class FrameStack(ObservationWrapper):
    """Shows the last `num_stack` observations, along a new first axis."""

    def __init__(self, env: Any, num_stack: int, lz4_compress: bool = False) -> None:
        from gymnasium import spaces

        super().__init__(env)
        del lz4_compress
        self.num_stack = num_stack
        self.frames: collections.deque[Any] = collections.deque(maxlen=num_stack)
        inner = env.observation_space
        low = np.repeat(inner.low[np.newaxis, ...], num_stack, axis=0)
        high = np.repeat(inner.high[np.newaxis, ...], num_stack, axis=0)
        self.observation_space = spaces.Box(low=low, high=high, dtype=inner.dtype)

    def observation(self, observation: Any = None) -> LazyFrames:
        """The frames that are there."""
        del observation
        assert len(self.frames) == self.num_stack, (len(self.frames), self.num_stack)
        return LazyFrames(list(self.frames))

    def _step(self, action: Any) -> Any:
        observation, reward, done, info = self.env.step(action)
        self.frames.append(observation)
        return self.observation(), reward, done, info

    def _reset(self, **kwargs: Any) -> Any:
        self.frames.extend([self.env.reset(**kwargs)] * self.num_stack)
        return self.observation()


class RecordEpisodeStatistics(Wrapper):
    """Adds `info["episode"]` to the last step of an episode: reward "r", length "l", seconds "t".

    Args:
        env: the environment.
        deque_size: of how many episodes `return_queue` and `length_queue` have the values.
    """

    def __init__(self, env: Any, deque_size: int = 100) -> None:
        super().__init__(env)
        self.t0 = time.time()
        self.episode_return, self.episode_length = 0.0, 0
        self.return_queue: collections.deque[float] = collections.deque(maxlen=deque_size)
        self.length_queue: collections.deque[int] = collections.deque(maxlen=deque_size)

    def _reset(self, **kwargs: Any) -> Any:
        self.episode_return, self.episode_length = 0.0, 0
        return self.env.reset(**kwargs)

    def _step(self, action: Any) -> Any:
        observation, reward, done, info = self.env.step(action)
        self.episode_return += reward
        self.episode_length += 1
        if done:
            seconds = round(time.time() - self.t0, 6)
            episode = {"r": self.episode_return, "l": self.episode_length, "t": seconds}
            info = {**info, "episode": episode}
            self.return_queue.append(self.episode_return)
            self.length_queue.append(self.episode_length)
            self.episode_return, self.episode_length = 0.0, 0
        return observation, reward, done, info
