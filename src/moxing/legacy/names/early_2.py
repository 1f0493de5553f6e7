"""Names that `tensorflow` had in its versions 2.0 to 2.4, outside of Keras, and has no longer."""

from __future__ import annotations

from collections.abc import Mapping

from moxing.legacy.face.faces import Spec

_SCALES = {
    name: f"tensorflow.compat.v1.mixed_precision:{name}"
    for name in ("DynamicLossScale", "FixedLossScale", "LossScale")
}
_PRECISION = "moxing.legacy.keras.older.precision"

NAMES: Mapping[str, Spec] = {
    "lookup": Spec(
        roots=("tensorflow.lookup",),
        names={
            "experimental": Spec(
                roots=("tensorflow.lookup.experimental",),
                names={"DatasetInitializer": "tensorflow.data.experimental:DatasetInitializer"},
            )
        },
    ),
    "mixed_precision": Spec(names={"experimental": Spec(names=_SCALES)}),
    "train": Spec(
        roots=("tensorflow.train",),
        names={
            "experimental": Spec(
                roots=("tensorflow.train.experimental",),
                names={
                    **_SCALES,
                    **{
                        name: f"{_PRECISION}:{name}"
                        for name in (
                            "disable_mixed_precision_graph_rewrite",
                            "enable_mixed_precision_graph_rewrite",
                        )
                    },
                },
            )
        },
    ),
}
