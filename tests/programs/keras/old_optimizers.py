"""An eager program of TensorFlow 2.2 with an optimizer of its own; checks itself with NumPy."""

import numpy as np
import tensorflow as tf
from tensorflow.keras.optimizers import Adam
from tensorflow.python.keras.optimizer_v2 import optimizer_v2

RATE, STEPS = 0.1, 3
X = np.random.RandomState(0).rand(32, 4).astype("float32")
Y = X.sum(axis=1, keepdims=True)
SCHEDULE = tf.keras.optimizers.schedules.ExponentialDecay(RATE, 2, 0.5)


class Shrinking(tf.keras.optimizers.SGD):
    """Shrinks each variable before the update, as optimizers with weight decay did."""

    def _resource_apply_dense(self, grad, var, apply_state=None):
        with tf.control_dependencies([var.assign_sub(var * self._decayed_lr(var.dtype))]):
            return super()._resource_apply_dense(grad, var, apply_state)


def new_model():
    return tf.keras.Sequential(
        [tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="ones", input_shape=(4,))]
    )


def check_own_class():
    model, optimizer = new_model(), Shrinking(SCHEDULE)
    kernel = np.ones([4, 1])

    @tf.function
    def train():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(X) - 2 * Y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    for step in range(STEPS):
        rate = RATE * 0.5 ** (step / 2)
        assert abs(float(optimizer.learning_rate(optimizer.iterations)) - rate) < 1e-6
        train()
        gradient = 2 * X.T @ (X @ kernel - 2 * Y) / len(X)
        kernel = kernel * (1 - rate) - rate * gradient
    np.testing.assert_allclose(model.get_weights()[0], kernel, rtol=1e-4)


def check_restore(folder):
    model, optimizer = new_model(), Adam(lr=0.01, decay=1e-3)
    model.compile(optimizer, "mse")
    model.fit(X, 2 * Y, verbose=0)
    tf.train.Checkpoint(model=model, optimizer=optimizer).save(folder + "/a")
    again = new_model()
    fresh = Adam(lr=0.01, decay=1e-3)
    again.compile(fresh, "mse")
    tf.train.Checkpoint(model=again, optimizer=fresh).restore(folder + "/a-1")
    for each, name in ((optimizer, model), (fresh, again)):
        each._create_all_weights(name.trainable_variables)
    for slot in ("m", "v"):
        was = optimizer.get_slot(model.trainable_variables[0], slot).numpy()
        assert np.any(was)
        np.testing.assert_allclose(
            fresh.get_slot(again.trainable_variables[0], slot).numpy(), was, rtol=1e-6
        )
    model.save(folder + "/m.h5")
    assert type(tf.keras.models.load_model(folder + "/m.h5").optimizer) is Adam


assert issubclass(Adam, optimizer_v2.OptimizerV2)
assert tf.optimizers.Adam is Adam
check_own_class()
check_restore("saved")
print("as in 2.2")
