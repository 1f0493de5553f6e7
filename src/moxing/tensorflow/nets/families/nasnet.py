"""NASNet-A (Zoph et al., arXiv:1707.07012) and PNASNet-5 (Liu et al., arXiv:1712.00559)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.families.nasnet_cell import (
    NASNET_NORMAL,
    NASNET_REDUCTION,
    PNASNET,
    Cell,
    build_cell,
    normalized_conv2d,
)
from moxing.tensorflow.nets.layers import avg_pool, conv2d, dropout, flatten, fully_connected
from moxing.tensorflow.nets.layers import global_pool as mean_of_map
from moxing.tensorflow.nets.norm import batch_norm
from moxing.tensorflow.nets.runtime import global_step
from moxing.tensorflow.nets.style import Style, he_normal_fan_out


@dataclass(frozen=True)
class Plan:
    """The structure of a network of cells.

    Attributes:
        cells: the number of cells, without the stem's and NASNet's reduction cells.
        depth: the number of channels of a hidden state in the first third of the cells.
        stem: the number of channels of the first convolution.
        imagenet: whether the stem is a strided convolution and two reduction cells, not one
            convolution.
        reduction: the cell that halves the image; None: the normal cell does so itself.
        skip_reduction: whether the cell after a reduction cell reads the cell before that one.
        drop_path: the probability of keeping a path in the last cell at the end of training.
        dropout: the probability of keeping a feature before the classifier.
        steps: the number of training steps until drop-path reaches `drop_path`.
    """

    normal: Cell
    reduction: Cell | None
    cells: int
    depth: int
    stem: int
    imagenet: bool = True
    skip_reduction: bool = False
    drop_path: float = 1.0
    dropout: float = 0.5
    steps: int = 250_000


NASNET_CIFAR = Plan(
    NASNET_NORMAL,
    NASNET_REDUCTION,
    cells=18,
    depth=32,
    stem=96,
    imagenet=False,
    drop_path=0.6,
    dropout=1.0,
    steps=937_500,
)
NASNET_MOBILE = Plan(NASNET_NORMAL, NASNET_REDUCTION, cells=12, depth=44, stem=32)
NASNET_LARGE = Plan(
    NASNET_NORMAL,
    NASNET_REDUCTION,
    cells=18,
    depth=168,
    stem=96,
    skip_reduction=True,
    drop_path=0.7,
)
PNASNET_MOBILE = Plan(PNASNET, None, cells=9, depth=54, stem=32, skip_reduction=True)
PNASNET_LARGE = Plan(
    PNASNET, None, cells=12, depth=216, stem=96, skip_reduction=True, drop_path=0.6
)


def nasnet(
    style: Style,
    net: tf.Tensor,
    num_classes: int,
    *,
    plan: Plan,
    dropout_keep_prob: float | None = None,
    create_aux_logits: bool = True,
) -> tf.Tensor:
    """Returns the logits of `plan`'s network, whose variables have no common scope, as in slim.

    In training, there is an auxiliary classifier `AuxLogits` before the last third of the cells,
    and drop-path, which is stronger in later cells and grows with `global_step`.
    """
    style = replace(
        style,
        normalize=False,
        bias=None,
        activation=None,
        norm_scale=True,
        norm_decay=0.9997 if plan.imagenet else 0.9,
        norm_epsilon=0.001 if plan.imagenet else 1e-5,
        weights=he_normal_fan_out(),
        decay_depthwise=True,
    )
    outputs = _stem(style, plan, net)
    style.end_points["Stem"] = outputs[-1]
    aux_cell = reductions(plan.cells)[1] - 1
    done = 2 if plan.imagenet else 0
    depth = plan.depth
    for number in range(plan.cells):
        stride, previous = 1, outputs[-2]
        if number in reductions(plan.cells):
            depth *= 2
            if plan.reduction is None:
                stride = 2
            else:
                _append_reduction(style, plan, outputs, number, depth, done)
                done += 1
                previous = previous if plan.skip_reduction else outputs[-2]
        net = build_cell(
            style,
            plan.normal,
            outputs[-1],
            previous,
            depth=depth,
            stride=stride,
            scope=f"cell_{number}",
            keep=_keep_path(style, plan, done),
        )
        style.end_points[f"Cell_{number}"] = net
        outputs.append(net)
        done += 1
        if number == aux_cell and style.training and create_aux_logits:
            style.end_points["AuxLogits"] = _auxiliary(style, net, num_classes, f"aux_{number}")
    keep = plan.dropout if dropout_keep_prob is None else dropout_keep_prob
    return _classifier(style, outputs[-1], num_classes, keep)


def reductions(cells: int) -> tuple[int, int]:
    """Returns the two cells at which the image is halved, after one and two thirds of the cells."""
    return cells // 3, 2 * cells // 3


def _append_reduction(
    style: Style, plan: Plan, outputs: list[tf.Tensor | None], number: int, depth: int, done: int
) -> None:
    assert plan.reduction is not None
    index = reductions(plan.cells).index(number)
    net = build_cell(
        style,
        plan.reduction,
        outputs[-1],
        outputs[-2],
        depth=depth,
        stride=2,
        scope=f"reduction_cell_{index}",
        keep=_keep_path(style, plan, done),
    )
    style.end_points[f"Reduction_Cell_{index}"] = net
    outputs.append(net)


def _stem(style: Style, plan: Plan, net: tf.Tensor) -> list[tf.Tensor | None]:
    """Returns the outputs of the stem; the first cell reads the last two."""
    if not plan.imagenet:
        net = normalized_conv2d(
            style, net, plan.stem, 3, scope="l1_stem_3x3", norm_scope="l1_stem_bn"
        )
        return [None, net]
    net = normalized_conv2d(
        style,
        net,
        plan.stem,
        3,
        stride=2,
        padding="VALID",
        scope="conv0",
        norm_scope="conv0_bn",
    )
    outputs: list[tf.Tensor | None] = [None, net]
    for number, divisor in enumerate((4, 2)):
        net = build_cell(
            style,
            plan.reduction or plan.normal,
            outputs[-1],
            outputs[-2],
            depth=plan.depth // divisor,
            stride=2,
            scope=f"cell_stem_{number}",
            keep=_keep_path(style, plan, number),
        )
        outputs.append(net)
    return outputs


def _keep_path(style: Style, plan: Plan, done: int) -> tf.Tensor | None:
    """Returns the probability of keeping a path in the cell after `done` cells; None: keep all."""
    if not style.training or plan.drop_path >= 1.0:
        return None
    total = plan.cells + (2 if plan.reduction else 0) + (2 if plan.imagenet else 0)
    drop = (1.0 - plan.drop_path) * (done + 1) / total
    return 1.0 - tf.minimum(1.0, global_step() / plan.steps) * drop


def _auxiliary(style: Style, net: tf.Tensor, num_classes: int, scope: str) -> tf.Tensor:
    with tf.variable_scope(scope), tf.variable_scope("aux_logits"):
        net = avg_pool(style, tf.nn.relu(net), 5, stride=3, padding="VALID", scope="AvgPool2D")
        net = conv2d(style, net, 128, 1, scope="proj")
        net = tf.nn.relu(batch_norm(style, net, scope="aux_bn0"))
        height, width = style.size(net)
        net = conv2d(style, net, 768, (height or 5, width or 5), padding="VALID", scope="Conv")
        net = tf.nn.relu(batch_norm(style, net, scope="aux_bn1"))
        return fully_connected(style, flatten(style, net), num_classes, scope="FC")


def _classifier(style: Style, net: tf.Tensor, num_classes: int, keep: float) -> tf.Tensor:
    with tf.variable_scope("final_layer"):
        net = mean_of_map(style, tf.nn.relu(net), name="global_pool", keepdims=False)
        style.end_points["global_pool"] = net
        net = dropout(style, net, keep, scope="dropout")
        logits = fully_connected(style, net, num_classes, scope="FC")
        style.end_points["Logits"] = logits
        style.end_points["Predictions"] = tf.nn.softmax(logits, name="predictions")
        return logits
