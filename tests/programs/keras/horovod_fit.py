"""Horovod with Keras' fit, of Keras 2 or, where this program says so, Keras 3."""

import horovod.keras as hvd
import keras
import numpy as np

random = np.random.RandomState(0)
X = random.rand(64, 4).astype("float32")
Y = X.sum(axis=1, keepdims=True)
START = [random.rand(*shape).astype("float32") for shape in ((4, 8), (8,), (8, 1), (1,))]


def model(optimizer):
    made = keras.models.Sequential(
        [keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)]
    )
    made.build((None, 4))
    made.compile(optimizer, "mse")
    return made


hvd.init()
own = 16 // hvd.size()
mine = np.arange(64).reshape(4, hvd.size(), own)[:, hvd.rank()].reshape(-1)
shared = model(hvd.DistributedOptimizer(keras.optimizers.Adam(0.01, clipnorm=0.5)))
shared.set_weights(START)
history = shared.fit(
    X[mine],
    Y[mine],
    batch_size=own,
    epochs=2,
    shuffle=False,
    verbose=0,
    callbacks=[
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd.callbacks.MetricAverageCallback(),
    ],
).history

alone = model(keras.optimizers.Adam(0.01, clipnorm=0.5))
alone.set_weights(START)
expected = alone.fit(X, Y, batch_size=16, epochs=2, shuffle=False, verbose=0).history
for found, right in zip(shared.get_weights(), alone.get_weights(), strict=True):
    np.testing.assert_allclose(found, right, rtol=1e-4)
np.testing.assert_allclose(history["loss"], expected["loss"], rtol=1e-4)
print("equal", hvd.rank(), hvd.size(), "Keras", keras.__version__[0])
