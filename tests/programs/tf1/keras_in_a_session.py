"""A tf.keras model trained by a session's own step, with K.learning_phase: accuracy above 0.9."""
import numpy as np
import tensorflow as tf
from tensorflow.python.keras import backend as K
from tensorflow.python.keras.layers import BatchNormalization, Dense, Dropout, Input
from tensorflow.python.keras.models import Model

rng = np.random.RandomState(31)
centers = rng.randn(3, 8) * 2
labels = rng.randint(0, 3, 300)
data = centers[labels] + rng.randn(300, 8)

sess = tf.Session()
K.set_session(sess)
inputs = Input(shape=(8,))
net = Dense(16, activation="relu")(inputs)
net = BatchNormalization(momentum=0.9)(net)
net = Dropout(0.2)(net)
model = Model(inputs, Dense(3, activation="softmax")(net))
wanted = tf.placeholder(tf.float32, [None, 3])
loss = tf.reduce_mean(tf.keras.losses.categorical_crossentropy(wanted, model.output))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
updates = model.get_updates_for(None) + model.get_updates_for(model.inputs)
sess.run(tf.global_variables_initializer())
one_hot = np.eye(3)[labels]
for step in range(200):
    chosen = rng.choice(200, 40)
    sess.run([train, updates], {model.input: data[chosen], wanted: one_hot[chosen],
                                K.learning_phase(): 1})
predicted = sess.run(model.output, {model.input: data[200:], K.learning_phase(): 0})
result = np.mean(predicted.argmax(1) == labels[200:])
model.save_weights("weights.h5")
sess.close()
print("accuracy %.3f" % result)
assert result > 0.9
