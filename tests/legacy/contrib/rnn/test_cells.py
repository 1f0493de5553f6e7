"""Each cell against its equations in NumPy, and the names of its variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.contrib import rnn
from moxing.legacy.contrib.rnn import linear

BATCH, WIDTH, UNITS = 3, 4, 4
Weights = dict[str, np.ndarray]


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def norm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-12) * gamma + beta


def run(cell: Any, inputs: Any = None) -> tuple[Any, Any, Any, Weights]:
    """One step from a random state: inputs, state, (output, new state) and the weights."""
    draw = np.random.RandomState(7)
    if inputs is None:
        inputs = draw.randn(BATCH, WIDTH).astype(np.float32)
    state = tf.nest.map_structure(
        lambda size: draw.randn(BATCH, *np.atleast_1d(size)).astype(np.float32), cell.state_size
    )
    tensors = tf.nest.map_structure(tf.constant, (inputs, state))
    result = cell(*tensors)
    values = {}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for variable in tf.global_variables():
            value = draw.randn(*variable.shape.as_list()).astype(np.float32)
            if "period" in variable.op.name:
                value = 2.0 + np.abs(value)
            if "ratio_on" in variable.op.name:
                value = np.full_like(value, 0.4)
            variable.load(value, session)
            values[variable.op.name.partition("/")[2]] = value
        scope = {variable.op.name.partition("/")[0] for variable in tf.global_variables()}
        assert len(scope) == 1, scope
        return inputs, state, session.run(result), {"scope": scope.pop(), **values}


def both(x: np.ndarray, h: np.ndarray) -> np.ndarray:
    return np.concatenate([x, h], 1)


def ugrnn(x: Any, h: Any, w: Weights) -> Any:
    g, c = np.split(both(x, h) @ w["kernel"] + w["bias"], 2, 1)
    g = sigmoid(g + 1.0)
    new = g * h + (1 - g) * np.tanh(c)
    return new, new


def intersection(x: Any, h: Any, w: Weights) -> Any:
    gh, c, gy, y = np.split(both(x, h) @ w["kernel"] + w["bias"], 4, 1)
    gh, gy = sigmoid(gh + 1), sigmoid(gy + 1)
    return gy * x + (1 - gy) * np.maximum(y, 0), gh * h + (1 - gh) * np.tanh(c)


def nas(x: Any, state: Any, w: Weights) -> Any:
    c, m = state
    a = np.split(x @ w["kernel"], 8, 1)
    b = np.split(m @ w["recurrent_kernel"] + w["bias"], 8, 1)
    relu = lambda v: np.maximum(v, 0)  # noqa: E731
    one = np.tanh(sigmoid(a[0] + b[0]) * relu(a[1] + b[1]))
    two = np.tanh(sigmoid(a[2] + b[2]) + relu(a[3] * b[3]))
    three = np.tanh(np.tanh(a[4] + b[4]) * sigmoid(a[5] + b[5]))
    four = sigmoid(np.tanh(a[6] + b[6]) + sigmoid(a[7] + b[7]))
    c = np.tanh(one + c) * two
    m = np.tanh(c * np.tanh(three + four)) @ w["projection_weights"]
    return m, (c, m)


def sru(x: Any, c: Any, w: Weights) -> Any:
    u, f, r, skip = np.split(x @ w["kernel"], 4, 1)
    f, r = np.split(sigmoid(np.concatenate([f, r], 1) + w["bias"]), 2, 1)
    c = f * c + (1 - f) * u
    return r * np.tanh(c) + (1 - r) * skip, c


def ind(x: Any, h: Any, w: Weights) -> Any:
    new = np.tanh(x @ w["kernel_w"] + h * w["kernel_u"] + w["bias"])
    return new, new


def indy_gru(x: Any, h: Any, w: Weights) -> Any:
    at = lambda s, state: x @ w[f"{s}/kernel_w"] + state * w[f"{s}/kernel_u"] + w[f"{s}/bias"]  # noqa: E731
    r, u = np.split(sigmoid(at("gates", np.tile(h, [1, 2]))), 2, 1)
    new = u * h + (1 - u) * np.tanh(at("candidate", r * h))
    return new, new


def lstm(gates: Any, c: Any) -> Any:
    i, j, f, o = gates
    c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j)
    m = sigmoid(o) * np.tanh(c)
    return m, (c, m)


def indy_lstm(x: Any, state: Any, w: Weights) -> Any:
    c, h = state
    sums = x @ w["kernel_w"] + np.tile(h, [1, 4]) * w["kernel_u"] + w["bias"]
    return lstm(np.split(sums, 4, 1), c)


def basic_norm(x: Any, state: Any, w: Weights) -> Any:
    c, h = state
    gates = np.split(both(x, h) @ w["kernel"], 4, 1)
    names = ("input", "transform", "forget", "output")
    i, j, f, o = (
        norm(gate, w[f"{name}/gamma"], w[f"{name}/beta"])
        for gate, name in zip(gates, names, strict=True)
    )
    c = norm(c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j), w["state/gamma"], w["state/beta"])
    h = np.tanh(c) * sigmoid(o)
    return h, (c, h)


def peephole_lstm(x: Any, state: Any, w: Weights) -> Any:
    c, m = state
    i, j, f, o = np.split(both(x, m) @ w["kernel"] + w["bias"], 4, 1)
    i, f = i + w["w_i_diag"] * c, f + w["w_f_diag"] * c
    c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j)
    m = sigmoid(o + w["w_o_diag"] * c) * np.tanh(c)
    return m, (c, m)


def weight_norm(x: Any, state: Any, w: Weights) -> Any:
    c, m = state
    kernel = w["kernel"] / np.sqrt((w["kernel"] ** 2).sum(0)) * w["wn/g"]
    return lstm(np.split(both(x, m) @ kernel + w["bias"], 4, 1), c)


def coupled(x: Any, state: Any, w: Weights) -> Any:
    c, m = state
    weights = np.concatenate([w["W_0"], w["W_1"]])
    j, f, o = np.split(both(x, m) @ weights + w["B"], 3, 1)
    f = sigmoid(f + 1 + w["W_F_diag"] * c)
    c = f * c + (1 - f) * np.tanh(j)
    m = sigmoid(o + w["W_O_diag"] * c) * np.tanh(c)
    return m @ w["W_P_0"], (c, m @ w["W_P_0"])


def grouped(x: Any, state: Any, w: Weights) -> Any:
    c, m = state
    sums = [
        both(x[:, 2 * k : 2 * k + 2], m[:, 2 * k : 2 * k + 2]) @ w[f"group{k}/kernel"]
        for k in range(2)
    ]
    gates = [
        np.concatenate([np.split(part, 4, 1)[n] for part in sums], 1) + w[f"bias_{gate}"]
        for n, gate in enumerate("ijfo")
    ]
    return lstm(gates, c)


def phased(inputs: Any, state: Any, w: Weights) -> Any:
    (time, x), (c, h) = inputs, state
    i, f = np.split(sigmoid(both(x, h) @ w["mask_gates/kernel"] + w["mask_gates/bias"]), 2, 1)
    new_c = f * c + i * np.tanh(both(x, h) @ w["new_input/kernel"] + w["new_input/bias"])
    o = sigmoid(both(x, h) @ w["output_gate/kernel"] + w["output_gate/bias"])
    new_h = np.tanh(new_c) * o
    cycle = np.mod(time - w["phase"], w["period"]) / w["period"]
    up, ratio = 2 * cycle / w["ratio_on"], w["ratio_on"]
    k = np.where(cycle < ratio / 2, up, np.where(cycle < ratio, 2 - up, 0.001 * cycle))
    new_c, new_h = k * new_c + (1 - k) * c, k * new_h + (1 - k) * h
    return new_h, (new_c, new_h)


def highway(x: Any, h: Any, w: Weights) -> Any:
    new = np.tanh(both(x, h) @ w["basic_rnn_cell/kernel"] + w["basic_rnn_cell/bias"])
    carry = sigmoid(x @ w["carry_w"] + w["carry_b"])
    transform = sigmoid(x @ w["transform_w"] + w["transform_b"])
    return x * carry + new * transform, new


def projected(x: Any, h: Any, w: Weights) -> Any:
    x = np.maximum(x @ w["kernel"] + w["bias"], 0)
    new = np.tanh(both(x, h) @ w["basic_rnn_cell/kernel"] + w["basic_rnn_cell/bias"])
    return new, new


def output_projected(x: Any, h: Any, w: Weights) -> Any:
    new = np.tanh(both(x, h) @ w["basic_rnn_cell/kernel"] + w["basic_rnn_cell/bias"])
    return new @ w["kernel"] + w["bias"], new


def embedded(ids: Any, h: Any, w: Weights) -> Any:
    x = w["embedding"][ids]
    new = np.tanh(both(x, h) @ w["basic_rnn_cell/kernel"] + w["basic_rnn_cell/bias"])
    return new, new


def attention(x: Any, state: Any, w: Weights) -> Any:
    h, attns, past = state
    past = past.reshape(BATCH, 2, UNITS)
    mixed = both(x, attns) @ w["kernel"] + w["bias"]
    new = np.tanh(both(mixed, h) @ w["basic_rnn_cell/kernel"] + w["basic_rnn_cell/bias"])
    keys = past @ w["attention/attn_w"][0, 0]
    query = new @ w["attention/kernel"] + w["attention/bias"]
    scores = (w["attention/attn_v"] * np.tanh(keys + query[:, None])).sum(-1)
    weights = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    read = (weights[..., None] * past).sum(1)
    at = "attn_output_projection"
    output = both(new, read) @ w[f"{at}/kernel"] + w[f"{at}/bias"]
    kept = np.concatenate([past[:, 1:], output[:, None]], 1)
    return output, (new, read, kept.reshape(BATCH, -1))


def basic() -> Any:
    return tf.nn.rnn_cell.BasicRNNCell(UNITS)


CELLS: dict[str, tuple[Callable[[], Any], Callable[..., Any]]] = {
    "ugrnn_cell": (lambda: rnn.UGRNNCell(UNITS), ugrnn),
    "intersection_rnn_cell": (lambda: rnn.IntersectionRNNCell(UNITS), intersection),
    "nas_cell": (lambda: rnn.NASCell(UNITS, num_proj=2, use_bias=True), nas),
    "sru_cell": (lambda: rnn.SRUCell(UNITS), sru),
    "ind_rnn_cell": (lambda: rnn.IndRNNCell(UNITS), ind),
    "indy_gru_cell": (lambda: rnn.IndyGRUCell(UNITS), indy_gru),
    "indy_lstm_cell": (lambda: rnn.IndyLSTMCell(UNITS), indy_lstm),
    "layer_norm_basic_lstm_cell": (lambda: rnn.LayerNormBasicLSTMCell(UNITS), basic_norm),
    "layer_norm_lstm_cell": (
        lambda: rnn.LayerNormLSTMCell(UNITS, use_peepholes=True),
        peephole_lstm,
    ),
    "weight_norm_lstm_cell": (lambda: rnn.WeightNormLSTMCell(UNITS), weight_norm),
    "coupled_input_forget_gate_lstm_cell": (
        lambda: rnn.CoupledInputForgetGateLSTMCell(
            UNITS, use_peepholes=True, num_proj=3, num_unit_shards=2
        ),
        coupled,
    ),
    "glstm_cell": (lambda: rnn.GLSTMCell(UNITS, number_of_groups=2), grouped),
    "phased_lstm_cell": (lambda: rnn.PhasedLSTMCell(UNITS), phased),
    "lstm_cell": (lambda: rnn.LSTMBlockCell(UNITS, use_peephole=True), peephole_lstm),
    "input_projection_wrapper": (
        lambda: rnn.InputProjectionWrapper(basic(), 5, tf.nn.relu),
        projected,
    ),
    "output_projection_wrapper": (
        lambda: rnn.OutputProjectionWrapper(basic(), 5),
        output_projected,
    ),
    "embedding_wrapper": (lambda: rnn.EmbeddingWrapper(basic(), 9, 5), embedded),
    "attention_cell_wrapper": (lambda: rnn.AttentionCellWrapper(basic(), 2), attention),
}


@pytest.mark.parametrize("scope", CELLS)
def test_a_cell_computes_its_equations_on_variables_of_the_old_names(scope: str) -> None:
    make, reference = CELLS[scope]
    draw = np.random.RandomState(3)
    inputs: Any = None
    if scope == "phased_lstm_cell":
        times = draw.rand(BATCH, 1).astype(np.float32) * 9
        inputs = (times, draw.randn(BATCH, WIDTH).astype(np.float32))
    if scope == "embedding_wrapper":
        inputs = np.array([8, 0, 3], np.int32)
    with tf.Graph().as_default():
        inputs, state, found, weights = run(make(), inputs)

    assert weights["scope"] == scope
    wanted = reference(inputs, state, weights)
    flat = zip(tf.nest.flatten(found), tf.nest.flatten(wanted), strict=True)
    for value, right in flat:
        np.testing.assert_allclose(value, right, rtol=2e-4, atol=2e-5)


def test_highway_carries_the_inputs_by_gates_of_their_own() -> None:
    with tf.Graph().as_default(), tf.variable_scope("outer"):
        cell = rnn.HighwayWrapper(basic(), couple_carry_transform_gates=False)
        inputs, state, found, weights = run(cell)

    for value, right in zip(found, highway(inputs, state, weights), strict=True):
        np.testing.assert_allclose(value, right, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_a_convolution_of_one_pixel_is_an_lstm_of_each_pixel(dimensions: int) -> None:
    shape = [2] * dimensions + [WIDTH]
    kinds = {1: rnn.Conv1DLSTMCell, 2: rnn.Conv2DLSTMCell, 3: rnn.Conv3DLSTMCell}
    cell = (
        kinds[dimensions](input_shape=shape, output_channels=UNITS, kernel_shape=[1] * dimensions)
        if dimensions
        else None
    )
    inputs = np.random.RandomState(1).randn(BATCH, *shape).astype(np.float32)
    with tf.Graph().as_default():
        x, (c, h), (out, new), w = run(cell, inputs)

    assert w["scope"] == f"conv_{dimensions}d_lstm_cell"
    kernel = w["kernel"].reshape(WIDTH + UNITS, 4 * UNITS)
    i, j, f, o = np.split(np.concatenate([x, h], -1) @ kernel + w["biases"], 4, -1)
    wanted, (wanted_c, _) = lstm((i, j, f, o), c)
    np.testing.assert_allclose(out, wanted, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(new[0], wanted_c, rtol=2e-4, atol=2e-5)


def test_a_whole_sequence_in_one_operation_is_its_steps_and_has_their_gradients() -> None:
    draw = np.random.RandomState(5)
    x = draw.randn(4, BATCH, WIDTH).astype(np.float32)
    lengths = [4, 2, 3]
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = tf.constant(x)
        with tf.variable_scope("one"):
            fused = rnn.LSTMBlockFusedCell(UNITS)
            outputs, (c, h) = fused(inputs, dtype=tf.float32, sequence_length=lengths)
        with tf.variable_scope("steps"):
            cell = rnn.LSTMBlockCell(UNITS)
            many, last = tf.nn.dynamic_rnn(cell, inputs, lengths, dtype=tf.float32, time_major=True)
        one, two = tf.global_variables("one"), tf.global_variables("steps")
        sums = [tf.reduce_sum(o * o) + tf.reduce_sum(s) for o, s in ((outputs, c), (many, last.c))]
        gradients = [tf.gradients(sums[0], [inputs, *one]), tf.gradients(sums[1], [inputs, *two])]
        session.run(tf.global_variables_initializer())
        session.run([b.assign(a) for a, b in zip(one, two, strict=True)])
        first, second = session.run([[outputs, c, h, gradients[0]], [many, *last, gradients[1]]])

        assert [v.op.name for v in one] == [
            "one/lstm_fused_cell/kernel",
            "one/lstm_fused_cell/bias",
        ]
        assert [v.op.name for v in two] == [
            "steps/rnn/lstm_cell/kernel",
            "steps/rnn/lstm_cell/bias",
        ]
        for a, b in zip(tf.nest.flatten(first), tf.nest.flatten(second), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_time_reversed_and_adapted_cells_read_from_the_end() -> None:
    x = np.random.RandomState(5).randn(4, BATCH, WIDTH).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        inputs, lengths = tf.constant(x), tf.constant([4, 2, 3])
        backward = rnn.TimeReversedFusedRNN(rnn.FusedRNNCellAdaptor(basic(), use_dynamic_rnn=True))
        outputs, state = backward(inputs, dtype=tf.float32, sequence_length=lengths)
        session.run(tf.global_variables_initializer())
        kernel, bias = session.run(tf.global_variables())
        found, last = session.run([outputs, state])

    h = np.zeros(UNITS)
    for step in (1, 0):
        h = np.tanh(np.concatenate([x[step, 1], h]) @ kernel + bias)
        np.testing.assert_allclose(found[step, 1], h, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(last[1], h, rtol=1e-4, atol=1e-5)
    assert (found[2:, 1] == 0).all()


def test_stacked_directions_feed_the_next_layer() -> None:
    x = np.random.RandomState(5).randn(BATCH, 4, WIDTH).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        forward, backward = [basic(), basic()], [basic(), basic()]
        dynamic, fw, bw = rnn.stack_bidirectional_dynamic_rnn(
            forward, backward, tf.constant(x), dtype=tf.float32
        )
        names = [v.op.name for v in tf.global_variables()]
        forward, backward = [basic(), basic()], [basic(), basic()]
        with tf.variable_scope("static"):
            static, _, _ = rnn.stack_bidirectional_rnn(
                forward, backward, tf.unstack(tf.constant(x), axis=1), dtype=tf.float32
            )
        session.run(tf.global_variables_initializer())
        pairs = zip(tf.global_variables("stack"), tf.global_variables("static"), strict=True)
        session.run([b.assign(a) for a, b in pairs])
        one, two = session.run([dynamic, tf.stack(static, 1)])

    layer = "stack_bidirectional_rnn/cell_1/bidirectional_rnn"
    assert f"{layer}/fw/basic_rnn_cell/kernel" in names
    assert f"{layer}/bw/basic_rnn_cell/kernel" in names
    assert len(fw) == len(bw) == 2
    assert one.shape == (BATCH, 4, 2 * UNITS)
    np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)


def test_what_cannot_be_computed_says_so() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="give num_in_proj=5"):
            rnn.IntersectionRNNCell(5)(tf.zeros([1, 4]), tf.zeros([1, 5]))
        with pytest.raises(ValueError, match="needs a known last dimension"):
            linear.linear(tf.placeholder(tf.float32), 3, True)
        with pytest.raises(ValueError, match="must divide num_units=4"):
            rnn.GLSTMCell(4, number_of_groups=3)
        with pytest.raises(ValueError, match="either num_units or cell_size"):
            rnn.GRUBlockCell()
        with pytest.raises(ValueError, match="one entry for each"):
            rnn.stack_bidirectional_rnn([basic()], [], [tf.zeros([1, 4])], dtype=tf.float32)


def test_a_linear_map_takes_the_arguments_of_tensorflow_0() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.zeros([1, 2])
        mapped = [
            linear.linear([x], 2, True, bias_start=3.0, scope="named"),
            linear.linear([x, x], 2, True, 4.0, scope="placed"),
        ]
        names = {variable.op.name for variable in tf.global_variables()}
        assert names == {
            f"{scope}/{part}" for scope in ("named", "placed") for part in ("kernel", "bias")
        }
        session.run(tf.global_variables_initializer())
        assert [value.tolist() for value in session.run(mapped)] == [[[3, 3]], [[4, 4]]]
