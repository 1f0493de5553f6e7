"""`flow.get_cur_job_conf_builder()`: the settings of a job in programs of September 2019.

They set fields of messages, as in `job_conf.train_conf().primary_lr = 0.1`. What they set goes to
the settings of the job, with the checks of `flow.config`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from moxing.errors import MoxAttributeError, MoxTypeError, MoxValueError, near_matches, shown
from moxing.flow.config import KNOBS, config
from moxing.flow.losses import add_loss
from moxing.flow.trace import context
from moxing.flow.training import conf as confs

_HERE = "flow.get_cur_job_conf_builder"
_RATES = (
    *("primary_lr", "secondary_lr", "weight_l1", "weight_l2", "bias_l1", "bias_l2"),
    *("loss_scale_factor", "batch_size"),
)


class JobConfigProtoBuilder:
    """The settings of the job that is being traced; each setter returns the builder.

    Switches of the original's tuning, such as `enable_inplace`, are setters too.
    """

    def batch_size(self, val: int) -> JobConfigProtoBuilder:
        """Sets the samples of a step, which `decode_ofrecord` reads if it has no `batch_size`."""
        config.piece_size(val)
        return self

    piece_size = batch_size

    def data_part_num(self, val: int) -> JobConfigProtoBuilder:
        """Sets the number of parts that `decode_ofrecord` reads if it has no `data_part_num`."""
        if type(val) is not int or val < 1:
            raise MoxValueError(f"data_part_num({shown(val)}): give a whole number from 1.")
        config.put(f"{_HERE}().data_part_num", "data_part_num", val)
        return self

    def default_data_type(self, val: Any) -> JobConfigProtoBuilder:
        """Sets the default data type of variables, such as flow.float."""
        config.default_data_type(val)
        return self

    def default_initializer_conf(self, val: dict[str, Any]) -> JobConfigProtoBuilder:
        """Sets the default initializer of variables."""
        config.default_initializer_conf(val)
        return self

    def model_update_conf(self, val: dict[str, Any]) -> JobConfigProtoBuilder:
        """Sets the optimizer; the job is a train job."""
        config.train.model_update_conf(val)
        return self

    def train_conf(self) -> Message:
        """Makes the job a train job, and returns its training settings as fields to set."""
        settings = config.target(f"{_HERE}().train_conf", train=True)
        settings.kind = "train"
        return Message(f"{_HERE}().train_conf()", _TRAIN, lambda: settings.train, _checked)

    def get_train_conf_builder(self) -> JobConfigProtoBuilder:
        """Makes the job a train job, and returns the builder with its `add_loss`."""
        if not context.required(_HERE).conf.is_train:
            self.train_conf()
        return self

    def add_loss(self, *losses: Any) -> None:
        """Trains the job by the sum of the means of all these losses, blobs or one list of them."""
        listed = losses[0] if len(losses) == 1 and isinstance(losses[0], list | tuple) else losses
        for loss in listed:
            add_loss(loss)

    def __getattr__(self, name: str) -> Callable[..., JobConfigProtoBuilder]:
        if name not in KNOBS:
            own = [key for key in vars(type(self)) if not key.startswith("_")]
            raise MoxAttributeError(
                f"{_HERE}() has no {name!r}.{near_matches(name, [*KNOBS, *own])}", name=name
            )

        def setter(val: Any = True) -> JobConfigProtoBuilder:
            config.knob(name, val)
            return self

        return setter


def get_cur_job_conf_builder() -> JobConfigProtoBuilder:
    """Returns the settings of the job that is being traced.

    Raises:
        MoxRuntimeError: no job is being traced.
    """
    context.required(_HERE)
    return JobConfigProtoBuilder()


class Message:
    """Settings as fields, like a message of the original: `conf.naive_conf.SetInParent()`.

    A field that holds other fields is set as soon as one of its fields is, or by `SetInParent`.
    """

    def __init__(
        self,
        place: str,
        fields: Mapping[str, Any],
        values: Callable[[], dict[str, Any]],
        check: Callable[[str, Any], Any] | None = None,
    ) -> None:
        """Args: place: for errors. fields: by name the default, `[]`, or a table of fields.

        values: makes and returns the dict of the fields that are set. check: of a field's value.
        """
        vars(self).update(_place=place, _fields=fields, _values=values, _check=check)

    def SetInParent(self) -> None:  # noqa: N802 (a name of the original)
        """Sets the message, without any of its fields."""
        self._values()

    def __getattr__(self, name: str) -> Any:
        kind = self._kind(name)
        if isinstance(kind, Mapping):
            return Message(
                f"{self._place}.{name}", kind, lambda: self._values().setdefault(name, {})
            )
        if isinstance(kind, list):
            return self._values().setdefault(name, [])
        return self._values().get(name, None if kind is confs.NEEDED else kind)

    def __setattr__(self, name: str, value: Any) -> None:
        kind = self._kind(name)
        if isinstance(kind, Mapping | list):
            call = "extend([...])" if isinstance(kind, list) else "SetInParent(), or set its fields"
            raise MoxTypeError(
                f"{self._place}.{name} = {shown(value)}: {name} can't be assigned to. Call its"
                f" {call}."
            )
        if self._check is not None:
            self._check(name, value)
        self._values()[name] = value

    def _kind(self, name: str) -> Any:
        if name not in self._fields:
            self._unknown(name)
        return self._fields[name]

    def _unknown(self, name: str) -> NoReturn:
        raise MoxAttributeError(
            f"{self._place} has no {name!r}.{near_matches(name, self._fields)}", name=name
        )


def _checked(name: str, value: Any) -> None:
    if name in _RATES:
        getattr(config.train, name)(value)
    elif type(value) is not int or value < 1:
        raise MoxValueError(f"train_conf().{name} = {shown(value)}: give a whole number from 1.")


def _lists(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A table of the optimizers' fields, with a list for fields that hold several numbers."""
    several = ("boundaries", "values", "scales")
    return {
        name: _lists(kind) if isinstance(kind, Mapping) else [] if name in several else kind
        for name, kind in fields.items()
    }


_TRAIN: Mapping[str, Any] = {
    **dict.fromkeys(_RATES),
    "num_of_batches_in_snapshot": None,
    "loss_lbn": [],
    "model_update_conf": _lists(confs.MODEL_UPDATE),
}
