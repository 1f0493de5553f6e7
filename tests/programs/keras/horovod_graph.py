"""Horovod with a session of TensorFlow 1.x; checks itself against one process."""

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

STEPS, BATCH = 8, 16
# Of the program's other way to train, by parameter servers: horovodrun leaves them as they are.
tf.app.flags.DEFINE_string("job_name", "", "ps or worker; not for Horovod")
tf.app.flags.DEFINE_integer("task_index", -1, "")
assert (tf.app.flags.FLAGS.job_name, tf.app.flags.FLAGS.task_index) == ("", -1)
random = np.random.RandomState(0)
X = random.rand(64, 4).astype("float32")
Y = X.dot(np.array([[1.0], [2.0], [-1.0], [0.5]], "float32"))


def build(optimizer, scope):
    with tf.variable_scope(scope):
        x = tf.placeholder(tf.float32, [None, 4])
        y = tf.placeholder(tf.float32, [None, 1])
        w = tf.get_variable("w", [4, 1], initializer=tf.zeros_initializer())
        table = tf.get_variable("table", [5, 1], initializer=tf.ones_initializer())
        rows = tf.cast(x[:, 0] * 3, tf.int32)
        loss = tf.reduce_mean((tf.matmul(x, w) + tf.nn.embedding_lookup(table, rows) - y) ** 2)
        return x, y, [w, table], optimizer.minimize(loss, tf.train.get_or_create_global_step())


def train(session, built, first, size):
    x, y, _, step = built
    for number in range(STEPS):
        start = number % 4 * BATCH + first
        session.run(step, {x: X[start : start + size], y: Y[start : start + size]})


hvd.init()
built = build(hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.05)), "shared")
# Another start in each process, until the first one's is broadcast.
start = tf.assign(built[2][0], tf.fill([4, 1], 1.0 + hvd.rank()))


class Start(tf.train.SessionRunHook):
    def after_create_session(self, session, coord):
        session.run(start)


hooks = [Start(), hvd.BroadcastGlobalVariablesHook(0)]
with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
    own = BATCH // hvd.size()
    train(session, built, hvd.rank() * own, own)
    weights = session.run(built[2])
everyones = hvd.allgather_object([w.tolist() for w in weights])
assert everyones[0] == everyones[-1], everyones

# More exchanges in a run than there are processors: of equal shapes, without names, in any order.
parts = [tf.fill([3], float(n * (1 + hvd.rank()))) for n in range(9)]
sums = [hvd.allreduce(part, op=hvd.Sum) for part in parts]
rows = [hvd.allgather(part[:1]) for part in parts]
with tf.Session() as session:
    for order in (range(9), range(8, -1, -1)) if hvd.rank() else (range(9), range(9)):
        found = session.run({n: (sums[n], rows[n]) for n in order})
        for n in range(9):
            total = n * sum(range(1, hvd.size() + 1))
            assert found[n][0].tolist() == [total] * 3, (n, found[n])
            assert found[n][1].tolist() == [n * (1 + rank) for rank in range(hvd.size())]

alone = build(tf.train.AdamOptimizer(0.05), "alone")
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(tf.assign(alone[2][0], tf.ones([4, 1])))
    train(session, alone, 0, BATCH)
    for mine, expected in zip(weights, session.run(alone[2]), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-5)
print("equal", hvd.rank(), hvd.size())
