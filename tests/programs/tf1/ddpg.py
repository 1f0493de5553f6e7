"""An actor and a critic with slowly following targets, on one continuous action: error below 0.2."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(11)
MEMORY, TAU = 300, 0.05


class DDPG(object):
    def __init__(self):
        self.memory, self.pointer = np.zeros((MEMORY, 3), dtype=np.float32), 0
        self.S = tf.placeholder(tf.float32, [None, 1], "s")
        self.R = tf.placeholder(tf.float32, [None, 1], "r")
        self.A = tf.placeholder(tf.float32, [None, 1], "given")
        with tf.variable_scope("Actor"):
            self.a = self._build_a(self.S, scope="eval", trainable=True)
            self.a_ = self._build_a(self.S, scope="target", trainable=False)
        with tf.variable_scope("Critic"):
            q_given = self._build_c(self.S, self.A, scope="eval")
            q = self._build_c(self.S, self.a, scope="eval", reuse=True)
        ae = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="Actor/eval")
        at = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="Actor/target")
        ce = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="Critic/eval")
        self.soft = [tf.assign(t, (1 - TAU) * t + TAU * e) for t, e in zip(at, ae)]
        error = tf.losses.mean_squared_error(labels=self.R, predictions=q_given)
        self.ctrain = tf.train.AdamOptimizer(0.02).minimize(error, var_list=ce)
        self.atrain = tf.train.AdamOptimizer(0.005).minimize(-tf.reduce_mean(q), var_list=ae)
        self.sess = tf.Session()
        self.sess.run(tf.global_variables_initializer())

    def _build_a(self, s, scope, trainable):
        with tf.variable_scope(scope):
            net = tf.layers.dense(s, 20, activation=tf.nn.tanh, trainable=trainable)
            return tf.layers.dense(net, 1, activation=tf.nn.tanh, trainable=trainable)

    def _build_c(self, s, a, scope, reuse=None):
        with tf.variable_scope(scope, reuse=reuse):
            w_s = tf.get_variable("w1_s", [1, 40])
            w_a = tf.get_variable("w1_a", [1, 40])
            b1 = tf.get_variable("b1", [1, 40])
            net = tf.nn.tanh(tf.matmul(s, w_s) + tf.matmul(a, w_a) + b1)
            return tf.layers.dense(net, 1, name="q")

    def act(self, s):
        return self.sess.run(self.a, {self.S: s[np.newaxis, :]})[0]

    def store(self, s, a, r):
        self.memory[self.pointer % MEMORY, :] = np.hstack((s, a, [r]))
        self.pointer += 1

    def learn(self):
        batch = self.memory[rng.choice(min(self.pointer, MEMORY), size=32)]
        self.sess.run(self.ctrain, {self.S: batch[:, :1], self.A: batch[:, 1:2],
                                    self.R: batch[:, 2:]})
        self.sess.run(self.atrain, {self.S: batch[:, :1]})
        self.sess.run(self.soft)


agent = DDPG()
for step in range(700):
    s = rng.uniform(-1, 1, 1)
    a = np.clip(rng.normal(agent.act(s), 0.5), -1, 1)
    # Best is the opposite of half of what is seen.
    agent.store(s, a, -float((a + s / 2) ** 2))
    if step > 64:
        agent.learn()
points = np.linspace(-1, 1, 21)[:, None]
error = np.abs(agent.sess.run(agent.a_, {agent.S: points}) + points / 2).mean()
agent.sess.close()
print("mean error %.3f" % error)
assert error < 0.2
