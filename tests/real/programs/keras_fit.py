"""A line, learned by moxing.keras.fit: the batch of each process is a half of the rows."""

import sys

import keras
import numpy as np

import moxing.keras

x = np.linspace(-1, 1, 64, dtype=np.float32)[:, None]
model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, kernel_initializer="zeros")])
model.compile(keras.optimizers.SGD(0.2), "mse")
moxing.keras.fit(model, x, 3 * x - 1, batch_size=8, epochs=20, output_dir=sys.argv[1])
print("learned", *(round(float(value), 3) for value in np.ravel(model.get_weights()[0])))
