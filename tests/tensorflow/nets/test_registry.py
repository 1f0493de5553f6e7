"""Every network has the parameters and the output that its publication gives."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError, MoxValueError
from moxing.tensorflow.nets import NetworkKeys, get_model_meta
from moxing.tensorflow.nets.registry import NETWORKS, UNPUBLISHED, network_named

Build = Callable[..., tuple[tf.Tensor, dict[str, tf.Tensor]]]


class Published(NamedTuple):
    """A parameter count, what it counts, and where it was published.

        `counted` is "trainable" (as we count), "gamma" (the source's batch norm has a gamma where
    x (without batch norm) or "millions" (rounded in the source).
    """

    parameters: float
    counted: str
    source: str
    num_classes: int = 1000


TORCHVISION = "https://docs.pytorch.org/vision/stable/models.html, num_params"
KERAS = "keras.applications, trainable parameters of model.summary()"
TIMM = "huggingface/pytorch-image-models, results-imagenet.csv, param_count"
SLIM = "tensorflow/models research/slim/nets"
MOBILENET = "tensorflow/models research/slim/nets/mobilenet/README.md, Params"

PUBLISHED = {
    "alexnet_v2": Published(50_303_912, "trainable", f"sum of the sizes in {SLIM}/alexnet.py"),
    "cifarnet": Published(1_756_426, "trainable", f"sum of the sizes in {SLIM}/cifarnet.py", 10),
    "inception_v1": Published(6_624_904, "gamma", TORCHVISION + " of googlenet, ported from slim"),
    "inception_v2": Published(11.2, "millions", "taehoonlee/tensornets README, Inception2"),
    "inception_v3": Published(23_817_352, "trainable", KERAS),
    "inception_v4": Published(42_679_816, "gamma", TIMM + ", inception_v4"),
    "inception_resnet_v2": Published(55_813_192, "trainable", KERAS),
    "lenet": Published(3_274_634, "trainable", "TensorFlow's tutorial Deep MNIST, LeNet", 10),
    "mobilenet_v1": Published(4_231_976, "trainable", KERAS),
    "mobilenet_v1_075": Published(2_585_560, "trainable", KERAS),
    "mobilenet_v1_050": Published(1_331_592, "trainable", KERAS),
    "mobilenet_v1_025": Published(470_072, "trainable", KERAS),
    "mobilenet_v2": Published(3_504_872, "trainable", KERAS),
    "mobilenet_v2_140": Published(6.06, "weights", MOBILENET),
    "mobilenet_v2_035": Published(1.66, "weights", MOBILENET),
    "nasnet_cifar": Published(3.3, "millions", "arXiv:1707.07012, table 1, NASNet-A (6@768)", 10),
    "nasnet_mobile": Published(5_289_978, "trainable", KERAS),
    "nasnet_large": Published(88_753_150, "trainable", KERAS),
    "overfeat": Published(
        145_704_424, "trainable", "sum of table 1 in arXiv:1312.6229, which says 145 million"
    ),
    "pnasnet_mobile": Published(5.1, "millions", "arXiv:1712.00559, table 4"),
    "pnasnet_large": Published(86_057_668, "trainable", TIMM + ", pnasnet5large"),
    "pvanet": Published(
        3.27, "kernels", "2.883 million in arXiv:1608.08021, table 1, and 384 x 1000 of logits"
    ),
    "resnet_v1_18": Published(11_689_512, "trainable", TORCHVISION),
    "resnet_v1_20": Published(0.27, "millions", "arXiv:1512.03385, table 6", 10),
    "resnet_v1_50": Published(25_557_032, "trainable", TORCHVISION),
    "resnet_v1_101": Published(44_549_160, "trainable", TORCHVISION),
    "resnet_v1_110": Published(1.7, "millions", "arXiv:1512.03385, table 6", 10),
    "resnet_v1_152": Published(60_192_808, "trainable", TORCHVISION),
    "resnet_v1_200": Published(64_673_832, "trainable", TIMM + ", resnet200"),
    "resnet_v2_50": Published(25_568_360, "trainable", KERAS),
    "resnet_v2_101": Published(44_577_896, "trainable", KERAS),
    "resnet_v2_152": Published(60_236_904, "trainable", KERAS),
    "resnet_v2_200": Published(64.7, "millions", "facebookarchive/fb.resnet.torch, ResNet-200"),
    "resnext_b_50": Published(25_028_904, "trainable", TORCHVISION + ", resnext50_32x4d"),
    "resnext_b_101": Published(44_177_704, "trainable", TIMM + ", resnext101_32x4d"),
    "resnext_c_50": Published(25_028_904, "trainable", TORCHVISION + ", resnext50_32x4d"),
    "resnext_c_101": Published(44_177_704, "trainable", TIMM + ", resnext101_32x4d"),
    "vgg_a": Published(132_863_336, "trainable", TORCHVISION + ", vgg11"),
    "vgg_16": Published(138_357_544, "trainable", TORCHVISION),
    "vgg_19": Published(143_667_240, "trainable", TORCHVISION),
    # Torchvision's convolutions before batch norm have biases, slim's have not: as many as betas.
    "vgg_a_bn": Published(132_868_840, "gamma", TORCHVISION + ", vgg11_bn"),
    "vgg_16_bn": Published(138_365_992, "gamma", TORCHVISION),
    "vgg_19_bn": Published(143_678_248, "gamma", TORCHVISION),
    "xception_41": Published(26.97, "millions", TIMM + ", xception41"),
    "xception_65": Published(39.92, "millions", TIMM + ", xception65"),
    "xception_71": Published(42.34, "millions", TIMM + ", xception71"),
}
# With a second classifier while they train; the larger ones of NASNet have the same.
AUXILIARY = {
    *("inception_v3", "inception_v4", "inception_resnet_v2", "nasnet_mobile", "pnasnet_mobile"),
}
# Names whose graph takes more than about two seconds to build on a busy machine.
LARGE = {
    *("inception_v4", "inception_resnet_v2", "nasnet_cifar", "nasnet_mobile", "nasnet_large"),
    *("pnasnet_mobile", "pnasnet_large", "resnet_v1_110", "resnet_v1_101", "resnet_v1_152"),
    *("resnet_v1_200", "resnet_v2_101", "resnet_v2_152", "resnet_v2_200", "resnext_b_50"),
    *("resnext_b_101", "resnext_c_101", "xception_65", "xception_71"),
}
NAMES = [
    pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name for name in PUBLISHED
]


def _constants() -> set[str]:
    return {value for key, value in vars(NetworkKeys).items() if key.isupper()}


def test_every_constant_is_built_or_refused() -> None:
    assert _constants() == set(NETWORKS) | set(UNPUBLISHED)
    assert set(PUBLISHED) == set(NETWORKS)
    assert all(key.lower() == value for key, value in vars(NetworkKeys).items() if key.isupper())


@pytest.mark.parametrize("name", NAMES)
def test_network_is_as_published(
    name: str, build: Build, without_initializers: Callable[[], AbstractContextManager[tf.Graph]]
) -> None:
    """As it is evaluated, which makes the smaller graph, where training adds no variables."""
    published = PUBLISHED[name]
    mode = "TRAIN" if name in AUXILIARY else "EVAL"
    with without_initializers():
        logits, _ = build(name, mode, batch=None, num_classes=published.num_classes)
        _check_counts(name, published, logits)
        _check_logits_pattern(name, published.num_classes)


def _check_counts(name: str, published: Published, logits: tf.Tensor) -> None:
    assert logits.shape.as_list() == [None, published.num_classes]
    assert logits.dtype == tf.float32
    count = _count(lambda _: True)
    if published.counted == "trainable":
        assert count == published.parameters
    elif published.counted == "gamma":
        assert count + _count(lambda name: name.endswith("/beta")) == published.parameters
    else:
        if published.counted == "weights":
            count -= _count(lambda name: "/BatchNorm/" in name)
        elif published.counted == "kernels":
            count = _count(lambda name: name.endswith("/weights"))
        digits = len(str(published.parameters).partition(".")[2])
        assert round(count / 1e6, digits) == published.parameters


def _check_logits_pattern(name: str, num_classes: int) -> None:
    """Whole components of names or parts of them: both readings cover the same variables."""
    patterns = get_model_meta(name).default_logits_pattern.split(",")
    names = [v.op.name for v in tf.global_variables()]
    last = {v.op.name for v in tf.global_variables() if num_classes in v.shape.as_list()}
    covered = {key for key in names if any(pattern in key for pattern in patterns)}
    assert last
    assert last <= covered
    assert covered == {key for key in names if set(key.split("/")) & set(patterns)}


def test_meta_of_documented_networks() -> None:
    assert get_model_meta("resnet_v1_50") == (224, 1, "logits")
    assert get_model_meta("vgg_16") == (224, 1, "fc8")
    assert get_model_meta("inception_v3") == (299, 0, "Logits,AuxLogits")
    assert get_model_meta("lenet").default_image_size == 28
    assert get_model_meta("cifarnet").default_image_size == 32


@pytest.mark.parametrize("name", UNPUBLISHED)
def test_unpublished_networks_say_so(name: str) -> None:
    with pytest.raises(MoxNotSupportedError) as caught:
        get_model_meta(name)
    assert str(caught.value) == (
        f"network {name!r} can't be built: its structure was never published, only its name; "
        "use 'resnet_v1_50', or build your own in model_fn"
    )


def test_unknown_name_suggests_near_ones() -> None:
    with pytest.raises(MoxValueError) as caught:
        network_named("resnet_v1_500")
    assert str(caught.value).startswith(
        "unknown network 'resnet_v1_500'. Did you mean 'resnet_v1_50'"
    )


def _count(wanted: Callable[[str], bool]) -> int:
    """Trainable parameters, without those of auxiliary classifiers, which no source counts."""
    return sum(
        int(np.prod(v.shape))
        for v in tf.trainable_variables()
        if wanted(v.op.name) and not {"AuxLogits", "aux_logits"} & set(v.op.name.split("/"))
    )
