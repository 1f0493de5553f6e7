"""Finds, if a job asks for it, the placement of variables with the fastest steps.

Each candidate trains for some steps on variables of its own, which are thrown away: the job's own
values, files, global step and data are not touched.
"""

from __future__ import annotations

import dataclasses
import logging
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.graph import ancestry, structure
from moxing.engine.graph.rewrites.resources import resource_variables
from moxing.engine.job.job import Export, Job, Outputs
from moxing.engine.loop import session
from moxing.engine.loop.session import Initialization
from moxing.engine.model import program
from moxing.engine.model.program import Program
from moxing.engine.parallel import replicas
from moxing.engine.parallel.place import Place
from moxing.engine.process.solo import Solo
from moxing.engine.wording import report
from moxing.errors import MoxError, MoxNotSupportedError
from moxing.logs import TENSORFLOW

STEPS = 50
_WARM = 5


def choose(job: Job, team: Solo) -> Job:
    """Returns the job with its fastest placement; in a cluster, the chief's choice in all workers.

    Placements that can't be tried are left out, with a warning that says why.

    Args:
        job: a training with `trial`.
        team: the processes that train together.
    """
    candidates = _candidates(job)
    if len(candidates) == 1:
        ((name, only),) = candidates.items()
        TENSORFLOW.info("%s", report.nothing_to_try(name, _why_alone(job)))
        return only
    rates: dict[str, float] = {}
    for number, (name, candidate) in enumerate(candidates.items(), 1):
        quiet = _quiet(candidate)
        place = team.place(quiet.placement)
        place.trial = f"openmox.trial.{number}"
        try:
            with _quietly():
                built = program.build(quiet, place=place)
                batch = _batch(built)
        except MoxError as error:  # All workers run one program, so all get the same error.
            TENSORFLOW.warning("%s", report.not_tried(name, str(error)))
            continue
        try:
            with _quietly():
                rates[name] = _rate(quiet, built, batch, place, team)
        except tf.errors.OpError as error:
            if not team.alone:  # The other workers wait in the same step, so this one can't go on.
                raise
            TENSORFLOW.warning("%s", report.not_tried(name, error.message.splitlines()[0]))
    if not rates:
        return _decided(job, job.placement.on_servers, job.placement.copied)
    best = max(rates, key=lambda name: rates[name])
    best = str(team.agree({"placement": best})["placement"])
    TENSORFLOW.info("%s", report.tried(rates, best, STEPS))
    return candidates[best]


def _decided(job: Job, on_servers: bool, copied: bool | None) -> Job:
    """Returns the job with one placement, and without `trial`."""
    placement = dataclasses.replace(
        job.placement, on_servers=on_servers, copied=copied, trial=False
    )
    return dataclasses.replace(job, placement=placement)


def _quiet(job: Job) -> Job:
    """Returns the job without files, log lines and reports to others."""
    return dataclasses.replace(
        job.starting_from(None),
        # Steps of one batch show the fastest placement, too.
        optimization=dataclasses.replace(
            job.optimization, updating=dataclasses.replace(job.optimization.updating, accumulate=1)
        ),
        log_dir=None,
        inter_mode=None,
        outputs=Outputs(),
        export=Export(),
        logging=dataclasses.replace(job.logging, profile=None),
    )


def _candidates(job: Job) -> Mapping[str, Job]:
    """The placements that a job can have, by MoXing's names for them."""

    def placed(on_servers: bool, copied: bool | None) -> Job:
        return _decided(job, on_servers, copied)

    cluster = job.group.cluster
    if cluster is None or cluster.alone:
        if job.devices == 1:
            return {"one device": placed(False, None)}
        return {"parameter_server": placed(False, False), "replicated": placed(False, True)}
    if not job.group.synchronous:
        return {"parameter_server": placed(True, False)}
    found = {"distributed_replicated": placed(False, True if job.devices > 1 else None)}
    if job.devices > 1:
        found["distributed_replicated (one set a worker)"] = placed(False, False)
    if cluster.ps:
        found["parameter_server"] = placed(True, False)
    return found


def _why_alone(job: Job) -> str:
    if job.group.alone:
        return "there is one device in one process"
    if not job.group.synchronous:
        return "workers without --sync_replicas meet on parameter servers"
    return "there are no --ps_hosts, and each worker has one device"


def _rate(job: Job, built: Program, batch: Sequence[tf.Tensor], place: Place, team: Solo) -> float:
    """Returns the steps per second of this process, which takes the same batch in each step."""

    def complete(opened: tf.Session) -> None:
        opened.run(given)
        opened.run(copies)
        team.barrier(f"{place.trial} begins", job.group.start_timeout)

    with ExitStack() as stack:
        stack.enter_context(built.graph.as_default())
        stack.enter_context(resource_variables())
        stack.enter_context(place.scope())
        variables = replicas.originals(tf.global_variables())
        initialize = session.initializer(variables if place.initializes else [])
        given, copies = place.give_values(variables), replicas.copies_from_originals()
        built.graph.finalize()
        opened = stack.enter_context(
            session.open_session(
                job,
                built.graph,
                Initialization(initialize, None, complete, built.initializers),
                tf.train.Coordinator(),
                team,
            )
        )
        values = opened.run(list(batch))
        step = opened.make_callable(built.step_op, feed_list=list(batch))
        for _ in range(_WARM):
            step(*values)
        started = time.perf_counter()
        for _ in range(STEPS):
            step(*values)
        seconds = time.perf_counter() - started
    team.barrier(f"{place.trial} ends", job.group.start_timeout)
    team.forget(place.trial)
    return STEPS / seconds


def _batch(built: Program) -> list[tf.Tensor]:
    """The tensors of a step's data, which is the same in every step of a trial.

    Raises:
        MoxNotSupportedError: the data can't be held, or is not all that a step needs.
    """
    leaves = [leaf for part in built.inputs.structures for leaf in structure.tensors(part)]
    flat = tf.nest.flatten(leaves, expand_composites=True)
    batch = list({tensor.name: tensor for tensor in flat}.values())
    for tensor in batch:
        if tensor.dtype in (tf.resource, tf.variant) or not built.graph.is_feedable(tensor):
            raise MoxNotSupportedError(f"a batch with {tensor.name} can't be used twice.")
    behind = ancestry.behind([built.step_op], fed=batch)
    fed = [op.name for op in behind if op.type in ancestry.PLACEHOLDERS]
    if fed:
        name = min(fed, key=len)  # Names of the first device have no prefix.
        raise MoxNotSupportedError(
            f"a step needs the value of {name}, which a hook feeds in training only."
        )
    return batch


@contextmanager
def _quietly() -> Iterator[None]:
    """In the block only errors are logged; after it, Python's random state is as before."""
    level, drawn, of_numpy = TENSORFLOW.level, random.getstate(), np.random.get_state()
    TENSORFLOW.setLevel(logging.ERROR)
    try:
        yield
    finally:
        TENSORFLOW.setLevel(level)
        random.setstate(drawn)
        np.random.set_state(of_numpy)
