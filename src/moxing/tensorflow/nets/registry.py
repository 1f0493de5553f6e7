"""The networks by name, with the functions that build them and their metadata."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError, MoxValueError, near_matches
from moxing.tensorflow.nets.families.alexnet import alexnet_v2
from moxing.tensorflow.nets.families.inception.inception_resnet_v2 import inception_resnet_v2
from moxing.tensorflow.nets.families.inception.inception_v1 import inception_v1
from moxing.tensorflow.nets.families.inception.inception_v2 import inception_v2
from moxing.tensorflow.nets.families.inception.inception_v3 import inception_v3
from moxing.tensorflow.nets.families.inception.inception_v4 import inception_v4
from moxing.tensorflow.nets.families.lenet import cifarnet, lenet
from moxing.tensorflow.nets.families.mobilenet_v1 import mobilenet_v1
from moxing.tensorflow.nets.families.mobilenet_v2 import mobilenet_v2
from moxing.tensorflow.nets.families.nasnet import (
    NASNET_CIFAR,
    NASNET_LARGE,
    NASNET_MOBILE,
    PNASNET_LARGE,
    PNASNET_MOBILE,
    Plan,
    nasnet,
)
from moxing.tensorflow.nets.families.overfeat import overfeat
from moxing.tensorflow.nets.families.pvanet import pvanet
from moxing.tensorflow.nets.families.resnet_cifar import resnet_cifar
from moxing.tensorflow.nets.families.resnet_v1 import resnet_v1, resnet_v1_basic
from moxing.tensorflow.nets.families.resnet_v2 import resnet_v2
from moxing.tensorflow.nets.families.resnext import resnext
from moxing.tensorflow.nets.families.vgg import vgg
from moxing.tensorflow.nets.families.xception import xception
from moxing.tensorflow.nets.keys import NetworkKeys as Keys


@dataclass(frozen=True)
class Network:
    """A network of the zoo.

    Attributes:
        build: `build(style, images, num_classes, **options) -> logits [batch, num_classes]`.
        preprocessing: the name of its preprocessing and augmentation family.
        image_size: the height and width, in pixels, with which it was published.
        labels_offset: the number to subtract from ImageNet labels that count a background class
            as 0.
        logits_pattern: a comma-separated list of name patterns for `checkpoint_exclude_patterns`,
            which match every variable whose shape depends on `num_classes`.
    """

    build: Callable[..., tf.Tensor]
    preprocessing: str = "vgg_preprocessing"
    image_size: int = 224
    labels_offset: int = 1
    logits_pattern: str = "logits"


def network_named(name: str) -> Network:
    """Returns the network with this name."""
    if name in UNPUBLISHED:
        raise MoxNotSupportedError(
            f"network {name!r} can't be built: its structure was never published, only its name; "
            f"use {Keys.RESNET_V1_50!r}, or build your own in model_fn"
        )
    if name not in NETWORKS:
        raise MoxValueError(
            f"unknown network {name!r}.{near_matches(str(name), NETWORKS)} "
            "mox.NetworkKeys lists all names"
        )
    return NETWORKS[name]


UNPUBLISHED = (Keys.RESNET_V1_50_8K, Keys.RESNET_V1_50_MOX, Keys.RESNET_V1_50_OCT)


def _named(build: Callable[..., tf.Tensor], name: str, **fixed: Any) -> Callable[..., tf.Tensor]:
    """Returns `build` with its variables in the scope `name`."""
    return partial(build, scope=name, **fixed)


def _resnet_v1(name: str, *units: int) -> Network:
    return Network(_named(resnet_v1, name, units=units))


def _resnet_v2(name: str, *units: int) -> Network:
    return Network(_named(resnet_v2, name, units=units))


def _resnext(name: str, *units: int) -> Network:
    return Network(_named(resnext, name, units=units))


def _cifar(build: Callable[..., tf.Tensor], **fixed: Any) -> Network:
    return Network(partial(build, **fixed), "cifarnet_preprocessing", 32, 0)


def _vgg(name: str, *layers: int) -> Network:
    build = _named(vgg, name, layers=layers, normalize=name.endswith("_bn"))
    return Network(build, logits_pattern="fc8")


def _inception(build: Callable[..., tf.Tensor], scope: str) -> Network:
    return Network(
        partial(build, scope=scope), "inception_preprocessing", 299, 0, "Logits,AuxLogits"
    )


def _mobilenet(build: Callable[..., tf.Tensor], scope: str, multiplier: float) -> Network:
    fixed = partial(build, scope=scope, multiplier=multiplier)
    return Network(fixed, "inception_preprocessing", 224, 0, "Logits")


def _nasnet(plan: Plan, image_size: int, preprocessing: str) -> Network:
    build = partial(nasnet, plan=plan)
    return Network(build, preprocessing, image_size, 0, "final_layer,aux_logits")


def _xception(name: str, *, long_entry: bool, middle_units: int) -> Network:
    build = _named(xception, name, long_entry=long_entry, middle_units=middle_units)
    return Network(build, "inception_preprocessing", 299, 0)


NETWORKS: dict[str, Network] = {
    Keys.ALEXNET_V2: Network(_named(alexnet_v2, "alexnet_v2"), logits_pattern="fc8"),
    Keys.CIFARNET: _cifar(cifarnet, scope="CifarNet"),
    Keys.INCEPTION_V1: _inception(inception_v1, "InceptionV1"),
    Keys.INCEPTION_V2: _inception(inception_v2, "InceptionV2"),
    Keys.INCEPTION_V3: _inception(inception_v3, "InceptionV3"),
    Keys.INCEPTION_V4: _inception(inception_v4, "InceptionV4"),
    Keys.INCEPTION_RESNET_V2: _inception(inception_resnet_v2, "InceptionResnetV2"),
    Keys.LENET: Network(_named(lenet, "LeNet"), "lenet_preprocessing", 28, 0, "fc4"),
    Keys.MOBILENET_V1: _mobilenet(mobilenet_v1, "MobilenetV1", 1.0),
    Keys.MOBILENET_V1_075: _mobilenet(mobilenet_v1, "MobilenetV1", 0.75),
    Keys.MOBILENET_V1_050: _mobilenet(mobilenet_v1, "MobilenetV1", 0.5),
    Keys.MOBILENET_V1_025: _mobilenet(mobilenet_v1, "MobilenetV1", 0.25),
    Keys.MOBILENET_V2: _mobilenet(mobilenet_v2, "MobilenetV2", 1.0),
    Keys.MOBILENET_V2_140: _mobilenet(mobilenet_v2, "MobilenetV2", 1.4),
    Keys.MOBILENET_V2_035: _mobilenet(mobilenet_v2, "MobilenetV2", 0.35),
    Keys.NASNET_CIFAR: _nasnet(NASNET_CIFAR, 32, "cifarnet_preprocessing"),
    Keys.NASNET_MOBILE: _nasnet(NASNET_MOBILE, 224, "inception_preprocessing"),
    Keys.NASNET_LARGE: _nasnet(NASNET_LARGE, 331, "inception_preprocessing"),
    Keys.OVERFEAT: Network(_named(overfeat, "overfeat"), image_size=231, logits_pattern="fc8"),
    Keys.PNASNET_MOBILE: _nasnet(PNASNET_MOBILE, 224, "inception_preprocessing"),
    Keys.PNASNET_LARGE: _nasnet(PNASNET_LARGE, 331, "inception_preprocessing"),
    Keys.PVANET: Network(_named(pvanet, "pvanet"), "pvanet_preprocessing"),
    Keys.RESNET_V1_18: Network(_named(resnet_v1_basic, "resnet_v1_18", units=(2, 2, 2, 2))),
    Keys.RESNET_V1_20: _cifar(resnet_cifar, scope="resnet_v1_20", units=3),
    Keys.RESNET_V1_110: _cifar(resnet_cifar, scope="resnet_v1_110", units=18),
    Keys.RESNET_V1_50: _resnet_v1("resnet_v1_50", 3, 4, 6, 3),
    Keys.RESNET_V1_101: _resnet_v1("resnet_v1_101", 3, 4, 23, 3),
    Keys.RESNET_V1_152: _resnet_v1("resnet_v1_152", 3, 8, 36, 3),
    Keys.RESNET_V1_200: _resnet_v1("resnet_v1_200", 3, 24, 36, 3),
    Keys.RESNET_V2_50: _resnet_v2("resnet_v2_50", 3, 4, 6, 3),
    Keys.RESNET_V2_101: _resnet_v2("resnet_v2_101", 3, 4, 23, 3),
    Keys.RESNET_V2_152: _resnet_v2("resnet_v2_152", 3, 8, 36, 3),
    Keys.RESNET_V2_200: _resnet_v2("resnet_v2_200", 3, 24, 36, 3),
    Keys.RESNEXT_B_50: _resnext("resnext_b_50", 3, 4, 6, 3),
    Keys.RESNEXT_B_101: _resnext("resnext_b_101", 3, 4, 23, 3),
    Keys.RESNEXT_C_50: _resnext("resnext_c_50", 3, 4, 6, 3),
    Keys.RESNEXT_C_101: _resnext("resnext_c_101", 3, 4, 23, 3),
    Keys.VGG_A: _vgg("vgg_a", 1, 1, 2, 2, 2),
    Keys.VGG_A_BN: _vgg("vgg_a_bn", 1, 1, 2, 2, 2),
    Keys.VGG_16: _vgg("vgg_16", 2, 2, 3, 3, 3),
    Keys.VGG_16_BN: _vgg("vgg_16_bn", 2, 2, 3, 3, 3),
    Keys.VGG_19: _vgg("vgg_19", 2, 2, 4, 4, 4),
    Keys.VGG_19_BN: _vgg("vgg_19_bn", 2, 2, 4, 4, 4),
    Keys.XCEPTION_41: _xception("xception_41", long_entry=False, middle_units=8),
    Keys.XCEPTION_65: _xception("xception_65", long_entry=False, middle_units=16),
    Keys.XCEPTION_71: _xception("xception_71", long_entry=True, middle_units=16),
}
