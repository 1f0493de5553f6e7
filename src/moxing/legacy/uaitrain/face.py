"""The face of `uaitrain`: the flags of the platform, and the readers of its cluster."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

from moxing.legacy.face.faces import Spec

_CLUSTER = "moxing.legacy.uaitrain.cluster"
_OTHERWISE = (
    "openmox has uaitrain.arch.tensorflow.uflag and uai_dist; `mox uai train` and `mox launch` do"
    " the work of the SDK's other modules."
)
# The flags of `uflag`: the function that defines each, the default and the help.
_FLAGS: tuple[tuple[str, str, Any, str], ...] = (
    ("DEFINE_string", "work_dir", "/data", "Folder of the job, set by the platform."),
    ("DEFINE_string", "data_dir", "/data/data", "Folder of the data, set by the platform."),
    ("DEFINE_string", "output_dir", "/data/output", "Folder to write, set by the platform."),
    ("DEFINE_string", "log_dir", "/data/output", "Folder of summaries, set by the platform."),
    ("DEFINE_integer", "num_gpus", 0, "GPUs of this node, set by the platform."),
    ("DEFINE_integer", "max_step", 0, "Last step, for the program's use."),
)


def spec(flags: Spec) -> Spec:
    """Returns the face.

    Args:
        flags: the face of `tf.flags`, by whose functions `uflag` defines the platform's flags.
    """
    uflag = Spec(
        names={"flags": flags, "tf": "face:tensorflow"}, arrive=lambda: _define(flags.names)
    )
    tensorflow = Spec(names={"uflag": uflag, "uai_dist": _CLUSTER}, otherwise=_OTHERWISE)
    installed = importlib.util.find_spec("uaitrain") is not None
    return Spec(
        roots=("uaitrain",) if installed else (),
        names={"arch": Spec(names={"tensorflow": tensorflow}, otherwise=_OTHERWISE)},
        otherwise=_OTHERWISE,
    )


def _define(functions: Mapping[str, str | Spec | Callable[[], Any]]) -> None:
    for function, name, default, text in _FLAGS:
        make: Any = functions[function]
        make()(name, default, text)
