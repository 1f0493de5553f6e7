"""A line, learned by a job of the flow dialect; the second argument names its machines."""

import sys

import numpy as np

import moxing.flow as flow

flow.env.machine(sys.argv[2].split(","))
flow.env.start_timeout(100)
x = np.linspace(-1, 1, 64, dtype=np.float32)[:, None]


COLUMN = flow.FixedTensorDef((64, 1))


@flow.function
def train(x=COLUMN, y=COLUMN):
    flow.config.train.primary_lr(0.2)
    flow.config.train.model_update_conf({"naive_conf": {}})
    start = flow.zeros_initializer()
    w = flow.get_variable("w", (1, 1), initializer=start)
    b = flow.get_variable("b", (1,), initializer=start)
    loss = flow.math.square(flow.nn.bias_add(flow.matmul(x, w), b) - y)
    flow.losses.add_loss(flow.reshape(loss, (64,)))
    return w


flow.train.CheckPoint().init()
for _ in range(200):
    learned = train(x, 3 * x - 1).get()
print("learned", round(float(learned.ndarray().ravel()[0]), 3))
