"""Tells by a program's text that it uses Keras' optimizers as they were until TensorFlow 2.10.

TensorFlow 2.11 gave the names of these optimizers, such as `Adam`, to new classes; the old classes
went to `tf.keras.optimizers.legacy`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from moxing.legacy.plain.texts import Use

NAMES = ("Adadelta", "Adagrad", "Adam", "Adamax", "Ftrl", "Nadam", "RMSprop", "SGD", "Optimizer")
# Methods of the old classes, which programs call, or define in subclasses.
_HOOKS = (
    "_create_all_weights",
    "_create_hypers",
    "_create_slots",
    "_decayed_lr",
    "_fallback_apply_state",
    "_get_hyper",
    "_prepare_local",
    "_resource_apply_dense",
    "_resource_apply_sparse",
    "_resource_apply_sparse_duplicate_indices",
    "_serialize_hyperparameter",
    "_set_hyper",
)
_OLD_USES = {
    *(f".{name}" for name in (*_HOOKS, "add_slot", "get_slot", "get_slot_names", "get_updates")),
    # In the old classes these attributes are the schedule itself; in new ones, its present value.
    *(".learning_rate", ".lr"),
    *(f"def.{name}" for name in _HOOKS),
}
# Layers have these methods too; the name of the object tells an optimizer from a layer.
_OF_LAYERS_TOO = (".get_weights", ".set_weights")
_NEW_ARGUMENTS = {"weight_decay", "use_ema", "jit_compile", "ema_momentum"}
_NEW_NAMES = ("AdamW", "Lion", "Adafactor", "legacy", "experimental")


@dataclass
class Evidence:
    """Whether the uses seen so far need the old classes or know the new classes.

    Attributes:
        old: the first use that only the old classes allow; empty: there is none.
        new: whether the program knows the new classes.
    """

    old: str = ""
    new: bool = False

    @property
    def is_old(self) -> bool:
        """Whether the program needs the old classes."""
        return bool(self.old) and not self.new

    def see(self, use: Use) -> None:
        """Takes one use into account."""
        *_, room, name = ("", *use.path.split("."))
        self.new |= room == "optimizers" and name in _NEW_NAMES
        self.new |= use.path == ".build" and _of_optimizer(use.call)
        self.new |= ".optimizers.legacy." in use.path or ".optimizers.experimental." in use.path
        given = {item.arg for item in use.call.keywords} if use.call else set()
        makes = name in NAMES and room in ("optimizers", "keras")
        self.new |= makes and not given.isdisjoint(_NEW_ARGUMENTS)
        shown = use.path in _OLD_USES or (makes and "decay" in given)
        if shown or (use.path in _OF_LAYERS_TOO and _of_optimizer(use.call)):
            self.old = self.old or str(use)


def _of_optimizer(call: ast.Call | None) -> bool:
    owner = call.func.value if call and isinstance(call.func, ast.Attribute) else None
    named = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return "optim" in named.lower() or named == "opt"
