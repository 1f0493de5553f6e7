"""A deep Q network with replay memory and a target network, on a corridor: the shortest way."""
import random
from collections import deque

import numpy as np
import tensorflow as tf

random.seed(8)
np.random.seed(8)
LENGTH, GAMMA = 6, 0.9


class Corridor(object):
    def reset(self):
        self.place = 0
        return self._state()

    def _state(self):
        return np.eye(LENGTH)[self.place]

    def step(self, action):
        self.place = max(0, self.place + (1 if action == 1 else -1))
        done = self.place == LENGTH - 1
        return self._state(), 1.0 if done else 0.0, done


class DQN():
    def __init__(self):
        self.replay_buffer = deque()
        self.state_input = tf.placeholder("float", [None, LENGTH])
        with tf.variable_scope("current_net"):
            self.Q_value = self.net()
        with tf.variable_scope("target_net"):
            self.target_Q_value = self.net()
        t_params = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="target_net")
        e_params = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="current_net")
        self.replace = [tf.assign(t, e) for t, e in zip(t_params, e_params)]
        self.action_input = tf.placeholder("float", [None, 2])
        self.y_input = tf.placeholder("float", [None])
        q_action = tf.reduce_sum(tf.multiply(self.Q_value, self.action_input), reduction_indices=1)
        self.cost = tf.reduce_mean(tf.square(self.y_input - q_action))
        self.optimizer = tf.train.AdamOptimizer(0.01).minimize(self.cost)
        self.session = tf.InteractiveSession()
        self.session.run(tf.initialize_all_variables())

    def net(self):
        W1 = tf.get_variable("W1", [LENGTH, 20], initializer=tf.truncated_normal_initializer())
        b1 = tf.get_variable("b1", [20], initializer=tf.constant_initializer(0.01))
        W2 = tf.get_variable("W2", [20, 2], initializer=tf.truncated_normal_initializer())
        return tf.matmul(tf.nn.relu(tf.matmul(self.state_input, W1) + b1), W2)

    def perceive(self, state, action, reward, next_state, done):
        one_hot_action = np.zeros(2)
        one_hot_action[action] = 1
        self.replay_buffer.append((state, one_hot_action, reward, next_state, done))
        if len(self.replay_buffer) > 500:
            self.replay_buffer.popleft()
        if len(self.replay_buffer) > 32:
            self.train()

    def train(self):
        minibatch = random.sample(self.replay_buffer, 32)
        state_batch = [data[0] for data in minibatch]
        next_state_batch = [data[3] for data in minibatch]
        y_batch = np.zeros(32)
        values = self.target_Q_value.eval(feed_dict={self.state_input: next_state_batch})
        for i in range(32):
            best = np.max(values[i:i + 1], axis=1)
            y_batch[i] = minibatch[i][2] + (0 if minibatch[i][4] else GAMMA * best)
        self.optimizer.run(feed_dict={
            self.y_input: y_batch, self.action_input: [data[1] for data in minibatch],
            self.state_input: state_batch})

    def action(self, state):
        q = self.Q_value.eval(feed_dict={self.state_input: [state]})[0]
        return np.argmax(q)


env, agent = Corridor(), DQN()
for episode in range(40):
    state, epsilon = env.reset(), max(0.1, 1 - episode / 25.)
    for step in range(30):
        action = random.randint(0, 1) if random.random() < epsilon else agent.action(state)
        next_state, reward, done = env.step(action)
        agent.perceive(state, action, reward, next_state, done)
        state = next_state
        if done:
            break
    agent.session.run(agent.replace)
state, steps, done = env.reset(), 0, False
while not done and steps < 30:
    state, _, done = env.step(agent.action(state))
    steps += 1
agent.session.close()
print("%d steps" % steps)
assert steps == LENGTH - 1
