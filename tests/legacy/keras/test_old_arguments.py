"""Arguments of Keras 1 in the names of Keras 2."""

from __future__ import annotations

import pytest

from moxing.errors import MoxTypeError
from moxing.legacy.keras.metric_names import Values
from moxing.legacy.keras.old_arguments import TABLE, converted


def _converted(name: str, *given: object, **named: object) -> tuple[object, object]:
    return converted(name, TABLE[name], given, named)


def test_sides_of_a_kernel() -> None:
    assert _converted("Conv2D", 32, 3, 5) == ((32, (3, 5)), {})
    assert _converted("Conv2D", 32, 3) == ((32, 3), {})
    assert _converted("Conv2D", 32, (3, 3), 2) == ((32, (3, 3), 2), {})
    of_keras_2 = 32, 3, 1, "same"  # As tf.keras' own programs write strides and padding.
    assert _converted("Conv2D", *of_keras_2) == (of_keras_2, {})
    assert converted("Conv2D", TABLE["Conv2D"], (16, 3, 2), {}, bare=False) == ((16, 3, 2), {})
    named = _converted("Conv2D", nb_filter=8, nb_row=3, nb_col=1)
    assert named == ((), {"filters": 8, "kernel_size": (3, 1)})
    assert _converted("Conv3D", 4, 1, 2, 3) == ((4, (1, 2, 3)), {})


def test_arguments_of_other_names() -> None:
    assert _converted("Dense", output_dim=3, init="normal", bias=False) == (
        (),
        {"units": 3, "kernel_initializer": "normal", "use_bias": False},
    )
    assert _converted("MaxPooling2D", dim_ordering="th") == (
        (),
        {"data_format": "channels_first"},
    )
    assert _converted("LSTM", 4, dropout_U=0.5, consume_less="gpu", forget_bias_init="one") == (
        (4,),
        {"recurrent_dropout": 0.5, "unit_forget_bias": True},
    )


def test_both_names_are_refused() -> None:
    with pytest.raises(MoxTypeError, match="Dropout has p= and rate=, which are the same"):
        _converted("Dropout", p=0.5, rate=0.5)


def test_accuracy_under_both_names() -> None:
    values = Values({"acc": 1, "val_accuracy": 2, "mean_acc": 3})

    assert values["accuracy"] == values["acc"] == 1
    assert values["val_acc"] == values.get("val_accuracy") == 2
    assert "val_acc" in values
    assert "val_loss" not in values
    assert values.get("loss") is None
    assert sorted(values) == ["acc", "mean_acc", "val_accuracy"]
