"""mox.InputSpec: groups of inputs, and batches that the devices of a process share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moxing.engine.data.whole_batch import WholeBatch
from moxing.errors import MoxTypeError, MoxValueError
from moxing.tensorflow.executor.callables import presented_as
from moxing.tensorflow.executor.spec import describe


class InputSpec:
    """Groups of inputs that `input_fn` returns and `model_fn` reads by number.

    `input_fn` adds groups with `new_input`; `model_fn` gets an InputSpec with the same groups, with
    the tensors of a step, and reads them with `get_input`. Every step has all groups.

    Args:
        split_to_device: whether `input_fn` makes one batch for all devices of the process, which
            are given equal parts of it along the first axis. False: every device takes a batch of
            its own. It has no effect with one device, and none where `mox.run` makes the batches
            (`auto_batch=True` with `batch_size`), which have the size of one device's batch. In
            EVAL and PREDICT a batch may have any size: devices without a sample take no part in
            means and outputs.

    Raises:
        MoxTypeError: `split_to_device` is not a bool.
    """

    def __init__(self, split_to_device: bool = False) -> None:
        if not isinstance(split_to_device, bool):
            raise MoxTypeError(
                f"mox.InputSpec(split_to_device={split_to_device!r}): it must be True or False."
            )
        self.split_to_device = split_to_device
        self._groups: list[Any] = []

    def __len__(self) -> int:
        return len(self._groups)

    def new_input(self, inputs: Any) -> int:
        """Adds a group of inputs.

        Args:
            inputs: a tensor of shape [samples, ...], or a list, tuple or dict of such tensors.

        Returns:
            The number of the group, by which `get_input` finds it: 0 for the first.
        """
        self._groups.append(inputs)
        return len(self._groups) - 1

    def get_input(self, index: int = 0) -> Any:
        """Returns a group of inputs as a list or dict of tensors, or the one tensor it consists of.

        Raises:
            MoxValueError: there is no group of that number.
        """
        if isinstance(index, bool) or not isinstance(index, int):
            raise MoxTypeError(f"get_input takes the number of a group, not {describe(index)}.")
        if not 0 <= index < len(self._groups):
            raise MoxValueError(
                f"get_input({index}): input_fn added {len(self._groups)} groups with new_input,"
                " which are numbered from 0."
            )
        return self._groups[index]


class Groups:
    """Hands the groups of an `InputSpec` from the input function of a run to its model function."""

    def __init__(self) -> None:
        self._used: dict[str, InputSpec | None] = {}

    def from_input_fn(self, input_fn: Callable[[str], Any]) -> Callable[[str], Any]:
        """Wraps `input_fn` to return the tensors of its InputSpec, which is kept for the model."""

        def call(mode: str) -> Any:
            made = input_fn(mode)
            self._used[mode] = made if isinstance(made, InputSpec) else None
            if not isinstance(made, InputSpec):
                return made
            if not len(made):
                raise MoxValueError(
                    "input_fn returned a mox.InputSpec without inputs: add them with"
                    " new_input([...])."
                )
            groups = [made.get_input(index) for index in range(len(made))]
            # The engine finds labels by their place, which is that in a lone group.
            inputs = groups if len(groups) > 1 else groups[0]
            return WholeBatch(inputs) if made.split_to_device else inputs

        return presented_as(input_fn, call)

    def to_model_fn(self, model_fn: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
        """Wraps `model_fn` to take an InputSpec where the inputs of its mode came from one."""

        def call(inputs: Any, mode: str) -> Any:
            # The model that is exported is called on the inputs of the run's own mode, the first.
            of_run = next(iter(self._used.values()), None)
            source = self._used.get(mode, of_run)
            if source is None:
                return model_fn(inputs, mode)
            return model_fn(_with_groups(source, inputs), mode)

        return presented_as(model_fn, call)


def _with_groups(source: InputSpec, inputs: Any) -> InputSpec:
    """Returns an InputSpec with the groups of `source`, of the tensors that the engine gives."""
    given = InputSpec(source.split_to_device)
    if len(source) > 1:
        groups = inputs
    else:
        # The engine makes a list of one of a lone tensor.
        is_group = isinstance(source.get_input(0), list | tuple | dict)
        groups = [inputs if is_group else inputs[0]]
    for group in groups:
        given.new_input(group)
    return given
