"""From a model of `tf.contrib.gan` to losses and train operations, and the loops of these."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.legacy.contrib.gan import models, of_models

GANLoss = collections.namedtuple("GANLoss", ("generator_loss", "discriminator_loss"))
CycleGANLoss = collections.namedtuple("CycleGANLoss", ("loss_x2y", "loss_y2x"))
GANTrainOps = collections.namedtuple(
    "GANTrainOps",
    ("generator_train_op", "discriminator_train_op", "global_step_inc_op", "train_hooks"),
    defaults=((),),
)
GANTrainSteps = collections.namedtuple(
    "GANTrainSteps", ("generator_train_steps", "discriminator_train_steps")
)
_ONE_EACH = GANTrainSteps(1, 1)


def gan_loss(
    model: Any,
    generator_loss_fn: Callable[..., Any] = of_models.wasserstein_generator_loss,
    discriminator_loss_fn: Callable[..., Any] = of_models.wasserstein_discriminator_loss,
    gradient_penalty_weight: Any = None,
    gradient_penalty_epsilon: float = 1e-10,
    gradient_penalty_target: float = 1.0,
    gradient_penalty_one_sided: bool = False,
    mutual_information_penalty_weight: Any = None,
    aux_cond_generator_weight: Any = None,
    aux_cond_discriminator_weight: Any = None,
    tensor_pool_fn: Callable[..., Any] | None = None,
    add_summaries: bool = True,
) -> Any:
    """Returns the losses of both networks, with their regularization and the asked penalties."""
    seen = _from_pool(model, tensor_pool_fn) if tensor_pool_fn else model
    generator = generator_loss_fn(model, add_summaries=add_summaries)
    discriminator = discriminator_loss_fn(seen, add_summaries=add_summaries)
    if gradient_penalty_weight is not None:
        penalty = of_models.wasserstein_gradient_penalty(
            model,
            epsilon=gradient_penalty_epsilon,
            target=gradient_penalty_target,
            one_sided=gradient_penalty_one_sided,
            add_summaries=add_summaries,
        )
        discriminator += gradient_penalty_weight * penalty
    if mutual_information_penalty_weight is not None:
        about = of_models.mutual_information_penalty(model, add_summaries=add_summaries)
        generator += mutual_information_penalty_weight * about
        discriminator += mutual_information_penalty_weight * about
    if aux_cond_generator_weight is not None:
        classes = of_models.acgan_generator_loss(model, add_summaries=add_summaries)
        generator += aux_cond_generator_weight * classes
    if aux_cond_discriminator_weight is not None:
        classes = of_models.acgan_discriminator_loss(model, add_summaries=add_summaries)
        discriminator += aux_cond_discriminator_weight * classes
    return GANLoss(
        generator + _regularization(model.generator_scope),
        discriminator + _regularization(model.discriminator_scope),
    )


def cyclegan_loss(
    model: Any,
    generator_loss_fn: Callable[..., Any] = of_models.least_squares_generator_loss,
    discriminator_loss_fn: Callable[..., Any] = of_models.least_squares_discriminator_loss,
    cycle_consistency_loss_fn: Callable[..., Any] = of_models.cycle_consistency_loss,
    cycle_consistency_loss_weight: float = 10.0,
    **named: Any,
) -> Any:
    """Returns the losses of both models of a CycleGAN, each with the loss of both ways back."""
    way = cycle_consistency_loss_fn(model, add_summaries=named.get("add_summaries", True))

    def one(part: Any) -> Any:
        loss = gan_loss(part, generator_loss_fn, discriminator_loss_fn, **named)
        whole = loss.generator_loss + cycle_consistency_loss_weight * way
        return loss._replace(generator_loss=whole)

    return CycleGANLoss(one(model.model_x2y), one(model.model_y2x))


def _from_pool(model: Any, pool: Callable[..., Any]) -> Any:
    """Returns the model with generated data that a pool of earlier batches gives."""
    inputs, generated = pool((model.generator_inputs, model.generated_data))
    with tf.variable_scope(model.discriminator_scope, reuse=True):
        outputs = model.discriminator_fn(generated, inputs)
    if isinstance(model, models.ACGANModel):
        outputs, classes = outputs
        model = model._replace(discriminator_gen_classification_logits=classes)
    return model._replace(
        generator_inputs=inputs, generated_data=generated, discriminator_gen_outputs=outputs
    )


def _regularization(scope: Any) -> Any:
    found = tf.losses.get_regularization_losses(scope.name + "/")
    return tf.add_n(found) if found else 0.0


def gan_train_ops(
    model: Any,
    loss: Any,
    generator_optimizer: Any,
    discriminator_optimizer: Any,
    check_for_unused_update_ops: bool = True,
    is_chief: bool = True,
    **named: Any,
) -> Any:
    """Returns the train operation of each network, and the operation that counts the step.

    Args:
        model: a model of this package.
        loss: its losses.
        generator_optimizer: the generator's optimizer.
        discriminator_optimizer: the discriminator's optimizer.
        check_for_unused_update_ops: whether updates of neither network are an error.
        is_chief: without effect here.
        **named: further arguments of `tf.contrib.training.create_train_op`.

    Raises:
        ValueError: there are updates of neither network.
    """
    if isinstance(model, models.CycleGANModel):
        return _of_both(
            model, loss, (generator_optimizer, discriminator_optimizer), is_chief, named
        )
    step = tf.train.get_or_create_global_step()
    updates = _updates(model, named.pop("update_ops", None), check_for_unused_update_ops)
    with tf.name_scope("generator_train"):
        generator = _train_op(
            loss.generator_loss, generator_optimizer, model.generator_variables, updates[0], named
        )
    with tf.name_scope("discriminator_train"):
        discriminator = _train_op(
            loss.discriminator_loss,
            discriminator_optimizer,
            model.discriminator_variables,
            updates[1],
            named,
        )
    return GANTrainOps(generator, discriminator, step.assign_add(1))


def _train_op(
    loss: Any, optimizer: Any, variables: Any, updates: Any, named: dict[str, Any]
) -> Any:
    from tf_slim import training

    named = {"update_ops": updates, "variables_to_train": variables, **named}
    # The step is counted by an operation of its own.
    return training.create_train_op(loss, optimizer, **{"global_step": None, **named})


def _of_both(
    model: Any, loss: Any, optimizers: tuple[Any, Any], is_chief: bool, named: dict[str, Any]
) -> Any:
    parts = (model.model_x2y, loss.loss_x2y), (model.model_y2x, loss.loss_y2x)
    made = [gan_train_ops(*part, *optimizers, False, is_chief, **named) for part in parts]
    return GANTrainOps(
        tf.group(*(one.generator_train_op for one in made)),
        tf.group(*(one.discriminator_train_op for one in made)),
        made[0].global_step_inc_op,
    )


def _updates(model: Any, given: Any, check: bool) -> tuple[list[Any], list[Any]]:
    if given is not None:
        return list(given), list(given)
    found = [
        tf.get_collection(tf.GraphKeys.UPDATE_OPS, scope.name + "/")
        for scope in (model.generator_scope, model.discriminator_scope)
    ]
    used = {id(update) for each in found for update in each}
    every = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    unused = [update.name for update in every if id(update) not in used]
    if check and unused:
        raise ValueError(
            f"These updates are in neither network: {', '.join(unused)}. Give gan_train_ops"
            " check_for_unused_update_ops=False if they are not needed."
        )
    return found[0], found[1]


class RunTrainOpsHook(tf.train.SessionRunHook):
    """Runs operations several times before each step of a session.

    Args:
        train_ops: the operations.
        train_steps: how many times.
    """

    def __init__(self, train_ops: Any, train_steps: int) -> None:
        self._ops = list(train_ops) if isinstance(train_ops, list | tuple) else [train_ops]
        self._steps = train_steps

    def before_run(self, run_context: Any) -> None:
        """Runs the operations."""
        for _ in range(self._steps):
            run_context.session.run(self._ops)


def get_sequential_train_hooks(train_steps: Any = _ONE_EACH) -> Callable[[Any], list[Any]]:
    """Returns a function that makes hooks: the generator's steps, then the discriminator's."""

    def hooks(train_ops: Any) -> list[Any]:
        return [
            RunTrainOpsHook(train_ops.generator_train_op, train_steps.generator_train_steps),
            RunTrainOpsHook(
                train_ops.discriminator_train_op, train_steps.discriminator_train_steps
            ),
            *train_ops.train_hooks,
        ]

    return hooks


def get_joint_train_hooks(train_steps: Any = _ONE_EACH) -> Callable[[Any], list[Any]]:
    """Returns a function that makes hooks: joint steps of both networks, then what remains."""
    ours, others = train_steps

    def hooks(train_ops: Any) -> list[Any]:
        generator, discriminator = train_ops.generator_train_op, train_ops.discriminator_train_op
        more = generator if ours > others else discriminator
        return [
            RunTrainOpsHook([generator, discriminator], min(ours, others)),
            RunTrainOpsHook(more, abs(ours - others)),
            *train_ops.train_hooks,
        ]

    return hooks


def get_sequential_train_steps(train_steps: Any = _ONE_EACH) -> Callable[..., Any]:
    """Returns a `train_step_fn` of `slim.learning.train` for a `GANTrainOps`."""

    def train_step(session: Any, train_ops: Any, global_step: Any, named: Any) -> tuple[Any, bool]:
        ours = others = 0.0
        for _ in range(train_steps.generator_train_steps):
            ours = session.run(train_ops.generator_train_op)
        for _ in range(train_steps.discriminator_train_steps):
            others = session.run(train_ops.discriminator_train_op)
        session.run(train_ops.global_step_inc_op)
        ends = named.get("should_stop")
        return ours + others, bool(session.run(ends)) if ends is not None else False

    return train_step


def gan_train(
    train_ops: Any,
    logdir: Any,
    get_hooks_fn: Callable[[Any], list[Any]] | None = None,
    master: str = "",
    is_chief: bool = True,
    scaffold: Any = None,
    hooks: Any = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: Any = 600,
    save_summaries_steps: Any = 100,
    config: Any = None,
) -> Any:
    """Trains until a hook stops; returns the last global step."""
    from tf_slim import training

    own = (get_hooks_fn or get_sequential_train_hooks())(train_ops)
    return training.train(
        train_ops.global_step_inc_op,
        logdir,
        master=master,
        is_chief=is_chief,
        scaffold=scaffold,
        hooks=[*(hooks or []), *own],
        chief_only_hooks=chief_only_hooks,
        save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps,
        config=config,
    )
