"""Programs run in the images that buildah makes of both Dockerfiles, as a user who is not root."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2000)]


def test_the_doctor_finds_nothing(container: Any) -> None:
    told = container.run("mox", "doctor", "--directory=/data/output")

    assert "openmox" in told
    assert "TensorFlow" in told


def test_an_unmodified_program_of_tensorflow_1(container: Any) -> None:
    told = container.run("python", "/data/old.py")

    assert "weights [2.0, 3.0] /data/output/model.ckpt" in told


def test_a_training_and_its_second_start(container: Any) -> None:
    first = container.run("python", "/data/new.py")
    second = container.run("mox", "run", "/data/new.py")

    assert "Trained 100 steps, from global step 0 to 100" in first
    assert "already at step 100" in second
