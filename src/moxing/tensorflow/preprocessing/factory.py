"""`get_data_augmentation_fn`: returns the augmentation of a network by name."""

from __future__ import annotations

import dataclasses
from typing import Any

from moxing.errors import MoxTypeError, MoxValueError, near_matches
from moxing.tensorflow.preprocessing.augmentation import Augmentation
from moxing.tensorflow.preprocessing.cifarnet import Cifarnet
from moxing.tensorflow.preprocessing.inception import Inception
from moxing.tensorflow.preprocessing.lenet import Lenet
from moxing.tensorflow.preprocessing.pvanet import Pvanet
from moxing.tensorflow.preprocessing.vgg import Vgg

_WHERE = "get_data_augmentation_fn"
_MODES = ("TRAIN", "EVAL", "PREDICT", "EXPORT")

_FAMILIES: dict[str, type[Any]] = {
    "cifarnet_preprocessing": Cifarnet,
    "inception_preprocessing": Inception,
    "lenet_preprocessing": Lenet,
    "pvanet_preprocessing": Pvanet,
    "vgg_preprocessing": Vgg,
}


def get_data_augmentation_fn(
    name: str,
    run_mode: str,
    output_height: int | None = None,
    output_width: int | None = None,
    **kwargs: Any,
) -> Augmentation:
    """Returns the augmentation of a network's original training, as a function of one image.

    The function takes an image [h, w, c] with values from 0 to 255, integers or floats, and returns
    float32 [output_height, output_width, c] with values in the same range; the model subtracts the
    mean. The function works inside and outside `tf.data` functions.

    Args:
      name: a network (`mox.NetworkKeys`), or one of the families 'vgg_preprocessing',
        'inception_preprocessing', 'cifarnet_preprocessing', 'lenet_preprocessing' and
        'pvanet_preprocessing'.
      run_mode: `mox.ModeKeys.TRAIN` for random crops, mirroring and colors; EVAL, PREDICT and
        EXPORT for the deterministic central crop.
      output_height: the number of rows of the result; None: the network's default image size.
      output_width: the number of columns of the result; None: the network's default image size.
      **kwargs: options of the family; see `Vgg`, `Inception` and `Cifarnet`.

    Raises:
      MoxValueError: the name or mode is unknown, or a number is outside its range.
      MoxTypeError: an argument has the wrong type, or the family does not have it.
    """
    family, default_size = _find(name)
    if run_mode not in _MODES:
        raise MoxValueError(
            f"{_WHERE}: unknown run_mode {run_mode!r}.{near_matches(str(run_mode).upper(), _MODES)}"
            f" Known: {', '.join(_MODES)}."
        )
    height = _check_size("output_height", output_height, default_size, name)
    width = _check_size("output_width", output_width, default_size, name)
    return Augmentation(_make(family, kwargs), run_mode == "TRAIN", height, width)


def _find(name: Any) -> tuple[str, int | None]:
    """Returns the name of the family and, for a network, its default image size."""
    if not isinstance(name, str):
        raise MoxTypeError(
            f"{_WHERE}: the name of a network is a string, not {type(name).__name__}."
        )
    if name in _FAMILIES:
        return name, None
    if name.endswith("_preprocessing"):
        raise MoxValueError(
            f"{_WHERE}: unknown family {name!r}.{near_matches(name, _FAMILIES)} "
            f"Known: {', '.join(_FAMILIES)}."
        )
    # Import the large zoo here, because a program that names a family does not need it.
    from moxing.tensorflow.nets.registry import network_named

    network = network_named(name)
    return network.preprocessing, network.image_size


def _make(family: str, options: dict[str, Any]) -> Any:
    cls = _FAMILIES[family]
    legal = [field.name for field in dataclasses.fields(cls)]
    for option in options:
        if option not in legal:
            raise MoxTypeError(
                f"{_WHERE}: {family} has no option {option!r}.{near_matches(option, legal)} "
                f"Its options: {', '.join(legal) or 'none'}."
            )
    return cls(**options)


def _check_size(argument: str, value: Any, default: int | None, name: str) -> int:
    if value is None:
        if default is None:
            raise MoxValueError(
                f"{_WHERE}: {argument} must be given, as the family {name!r} has no default size."
            )
        return default
    if isinstance(value, bool) or not isinstance(value, int):
        raise MoxTypeError(
            f"{_WHERE}: {argument} is {value!r} ({type(value).__name__}); "
            f"it must be a whole number of pixels."
        )
    if value < 1:
        raise MoxValueError(f"{_WHERE}: {argument} is {value}; it must be at least 1.")
    return value
