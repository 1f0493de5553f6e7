"""Which devices a run gets, and what it says where there are fewer."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph import devices
from moxing.errors import MoxValueError


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets TensorFlow list so many GPUs."""

    def there_are(count: int) -> None:
        listed = [object()] * count
        monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: listed)
        devices.has_gpu.cache_clear()

    yield there_are
    devices.has_gpu.cache_clear()


def test_the_first_gpus_are_used(gpus: Any) -> None:
    gpus(4)
    assert devices.local(2) == ("/device:GPU:0", "/device:GPU:1")


def test_more_gpus_than_there_are_is_refused_with_their_number(gpus: Any) -> None:
    gpus(2)
    with pytest.raises(MoxValueError) as caught:
        devices.local(3)
    assert str(caught.value) == (
        "--num_gpus=3, but this machine has 2 that TensorFlow can use. Lower it, or look at"
        " CUDA_VISIBLE_DEVICES."
    )


def test_without_gpus_logical_devices_share_the_cpu(gpus: Any, log: Any) -> None:
    gpus(0)
    assert devices.local(1) == ("/device:CPU:0",)
    assert devices.local(2) == ("/device:CPU:0", "/device:CPU:1")
    (line,) = log.messages
    assert line.startswith("No GPU here: 2 logical devices share the CPU (")
