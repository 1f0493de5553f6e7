"""`gym.utils.seeding`: random numbers by gym's own seeds, as NumPy's RandomState."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np

from moxing.errors import MoxValueError


class Random(np.random.RandomState):
    """A generator of gym's time that also has the two methods by which gymnasium draws."""

    integers = np.random.RandomState.randint
    random = np.random.RandomState.random_sample


def np_random(seed: Any = None) -> tuple[Random, int]:
    """Returns a generator and its seed, which is drawn where none is given.

    Raises:
        MoxValueError: the seed is negative or no integer.
    """
    if seed is not None and not (isinstance(seed, int | np.integer) and seed >= 0):
        raise MoxValueError(f"seeding.np_random: seed is {seed!r}; give an integer from 0 up.")
    seed = create_seed(seed)
    generator = Random()
    generator.seed(_words(hash_seed(seed)))
    return generator, seed


def create_seed(a: Any = None, max_bytes: int = 8) -> int:
    """A strong seed: a given integer itself, the hash of a text, or random bytes."""
    if a is None:
        return int.from_bytes(os.urandom(max_bytes), "little")
    if isinstance(a, str):
        text = a.encode()
        return int.from_bytes((text + hashlib.sha512(text).digest())[:max_bytes], "little")
    return int(a) % 2 ** (8 * max_bytes)


def hash_seed(seed: Any = None, max_bytes: int = 8) -> int:
    """A seed that has no likeness to seeds beside the given one."""
    seed = create_seed(max_bytes=max_bytes) if seed is None else seed
    return int.from_bytes(hashlib.sha512(str(seed).encode()).digest()[:max_bytes], "little")


def _words(number: int) -> list[int]:
    """A number's words of 32 bits, the lowest first."""
    words = []
    while number > 0:
        number, word = divmod(number, 2**32)
        words.append(word)
    return words or [0]
