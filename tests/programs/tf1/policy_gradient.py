"""REINFORCE with tf.multinomial and a baseline, on a bandit with contexts: reward above 0.9."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(9)


class PolicyGradientAgent(object):
    def __init__(self, hparams, sess):
        self._s = sess
        self._input = tf.placeholder(tf.float32, shape=[None, hparams["input_size"]])
        hidden = tf.contrib.layers.fully_connected(
            inputs=self._input, num_outputs=hparams["hidden_size"], activation_fn=tf.nn.relu,
            weights_initializer=tf.random_normal_initializer())
        logits = tf.contrib.layers.fully_connected(
            inputs=hidden, num_outputs=hparams["num_actions"], activation_fn=None)
        self._sample = tf.reshape(tf.multinomial(logits, 1), [-1])
        log_prob = tf.log(tf.nn.softmax(logits))
        self._acts = tf.placeholder(tf.int32)
        self._advantages = tf.placeholder(tf.float32)
        indices = tf.range(0, tf.shape(log_prob)[0]) * tf.shape(log_prob)[1] + self._acts
        act_prob = tf.gather(tf.reshape(log_prob, [-1]), indices)
        loss = -tf.reduce_sum(tf.multiply(act_prob, self._advantages))
        self._train = tf.train.RMSPropOptimizer(hparams["learning_rate"]).minimize(loss)

    def act(self, observation):
        return self._s.run(self._sample, feed_dict={self._input: observation})

    def train_step(self, obs, acts, advantages):
        self._s.run(self._train, {self._input: obs, self._acts: acts, self._advantages: advantages})


with tf.Graph().as_default(), tf.Session() as sess:
    tf.set_random_seed(9)
    hparams = {"input_size": 4, "hidden_size": 16, "num_actions": 4, "learning_rate": 0.02}
    agent = PolicyGradientAgent(hparams, sess)
    sess.run(tf.global_variables_initializer())
    baseline = 0.
    for step in range(200):
        context = rng.randint(0, 4, 32)
        actions = agent.act(np.eye(4)[context])
        rewards = (actions == (context + 1) % 4).astype(float)
        agent.train_step(np.eye(4)[context], actions, rewards - baseline)
        baseline = 0.9 * baseline + 0.1 * rewards.mean()
print("reward %.2f" % baseline)
assert baseline > 0.9
