"""Asynchronous actor-critic, threads with networks of their own that update one: reward above 0.8."""
import multiprocessing
import threading

import numpy as np
import tensorflow as tf

np.random.seed(10)
N_WORKERS = min(3, multiprocessing.cpu_count() + 1)
GLOBAL_NET_SCOPE = "Global_Net"
MAX_EP = 250
SCORES = []
GLOBAL_EP = 0
LOCK = threading.Lock()


class Game(object):
    """The state names the right one of three actions, five times a game."""

    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.left = 5
        return self._next()

    def _next(self):
        self.wanted = self.rng.randint(3)
        return np.eye(3)[self.wanted]

    def step(self, action):
        reward = float(action == self.wanted)
        self.left -= 1
        return self._next(), reward, self.left == 0


class ACNet(object):
    def __init__(self, scope, globalAC=None):
        with tf.variable_scope(scope):
            self.s = tf.placeholder(tf.float32, [None, 3], "S")
            self.a_prob, self.v, self.a_params, self.c_params = self._build_net(scope)
            if globalAC is None:
                return
            self.a_his = tf.placeholder(tf.int32, [None], "A")
            self.v_target = tf.placeholder(tf.float32, [None, 1], "Vtarget")
            td = tf.subtract(self.v_target, self.v, name="TD_error")
            c_loss = tf.reduce_mean(tf.square(td))
            chosen = tf.reduce_sum(tf.log(self.a_prob + 1e-5) * tf.one_hot(self.a_his, 3),
                                   axis=1, keep_dims=True)
            entropy = -tf.reduce_sum(self.a_prob * tf.log(self.a_prob + 1e-5), 1, keep_dims=True)
            a_loss = tf.reduce_mean(-(0.01 * entropy + chosen * tf.stop_gradient(td)))
            a_grads = tf.gradients(a_loss, self.a_params)
            c_grads = tf.gradients(c_loss, self.c_params)
            pull = zip(self.a_params + self.c_params, globalAC.a_params + globalAC.c_params)
            self.pull_op = [local.assign(shared) for local, shared in pull]
            self.update_op = [OPT_A.apply_gradients(zip(a_grads, globalAC.a_params)),
                              OPT_C.apply_gradients(zip(c_grads, globalAC.c_params))]

    def _build_net(self, scope):
        w_init = tf.random_normal_initializer(0., .1)
        with tf.variable_scope("actor"):
            l_a = tf.layers.dense(self.s, 24, tf.nn.relu6, kernel_initializer=w_init, name="la")
            a_prob = tf.layers.dense(l_a, 3, tf.nn.softmax, kernel_initializer=w_init, name="ap")
        with tf.variable_scope("critic"):
            l_c = tf.layers.dense(self.s, 16, tf.nn.relu6, kernel_initializer=w_init, name="lc")
            v = tf.layers.dense(l_c, 1, kernel_initializer=w_init, name="v")
        a_params = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope=scope + "/actor")
        c_params = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope=scope + "/critic")
        return a_prob, v, a_params, c_params


class Worker(object):
    def __init__(self, name, globalAC, seed):
        self.env, self.name, self.AC = Game(seed), name, ACNet(name, globalAC)
        self.rng = np.random.RandomState(100 + seed)

    def work(self):
        global GLOBAL_EP
        while not COORD.should_stop() and GLOBAL_EP < MAX_EP:
            s, done, total = self.env.reset(), False, 0
            buffer_s, buffer_a, buffer_r = [], [], []
            while not done:
                prob = SESS.run(self.AC.a_prob, {self.AC.s: s[np.newaxis, :]})
                a = self.rng.choice(range(3), p=prob.ravel() / prob.sum())
                s_, r, done = self.env.step(a)
                total += r
                buffer_s.append(s)
                buffer_a.append(a)
                buffer_r.append(r)
                s = s_
            feed_dict = {self.AC.s: np.vstack(buffer_s), self.AC.a_his: np.array(buffer_a),
                         self.AC.v_target: np.array(buffer_r)[:, None]}
            SESS.run(self.AC.update_op, feed_dict)
            SESS.run(self.AC.pull_op)
            with LOCK:
                GLOBAL_EP += 1
                SCORES.append(total / 5)


SESS = tf.Session()
with tf.device("/cpu:0"):
    OPT_A = tf.train.RMSPropOptimizer(0.01, name="RMSPropA")
    OPT_C = tf.train.RMSPropOptimizer(0.01, name="RMSPropC")
    GLOBAL_AC = ACNet(GLOBAL_NET_SCOPE)
    workers = [Worker("W_%i" % i, GLOBAL_AC, i) for i in range(N_WORKERS)]
COORD = tf.train.Coordinator()
SESS.run(tf.global_variables_initializer())
worker_threads = []
for worker in workers:
    t = threading.Thread(target=lambda w=worker: w.work())
    t.start()
    worker_threads.append(t)
COORD.join(worker_threads)
SESS.close()
result = np.mean(SCORES[-25:])
print("mean reward of the last 25 games %.2f" % result)
assert not any(t.isAlive() for t in worker_threads)
assert result > 0.8
