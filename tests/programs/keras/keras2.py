"""A program in the manner of Keras 1.2 to 2.3: old paths, old arguments, old methods."""

import keras
import numpy as np
from keras import backend as K
from keras.callbacks import EarlyStopping, ModelCheckpoint
from keras.engine.topology import Layer
from keras.layers import Input, merge
from keras.layers.convolutional import Convolution2D
from keras.layers.core import Activation, Dense, Dropout, Flatten
from keras.layers.merge import add
from keras.legacy import interfaces
from keras.models import Model, Sequential, load_model
from keras.optimizers import SGD, Optimizer
from keras.preprocessing.image import ImageDataGenerator
from keras.utils import np_utils

np.random.seed(0)
x = np.random.rand(64, 6, 6, 1).astype("float32")
classes = (x.mean((1, 2, 3)) > 0.5).astype(int)
y = np_utils.to_categorical(classes, 2)

model = Sequential()
model.add(Convolution2D(4, 3, 3, border_mode="same", input_shape=(6, 6, 1), init="he_normal"))
model.add(Activation("relu"))
model.add(Flatten())
model.add(Dropout(p=0.1))
model.add(Dense(output_dim=2, activation="softmax"))
optimizer = SGD(lr=0.1, decay=1e-6, momentum=0.9, nesterov=True)
model.compile(loss="categorical_crossentropy", optimizer=optimizer, metrics=["accuracy"])
history = model.fit(
    x,
    y,
    nb_epoch=2,
    verbose=0,
    validation_split=0.25,
    callbacks=[
        ModelCheckpoint("best.h5", monitor="val_accuracy", save_best_only=True),
        EarlyStopping(monitor="val_acc", patience=5),
    ],
).history
assert history["acc"] == history["accuracy"]
assert len(history["val_acc"]) == 2
augmented = ImageDataGenerator(horizontal_flip=True).flow(x, y, batch_size=16)
model.fit_generator(augmented, samples_per_epoch=64, nb_epoch=1, verbose=0)


def batches():
    while True:
        yield x[:16], y[:16]


seen = model.fit_generator(batches(), samples_per_epoch=64, nb_epoch=1, verbose=0)
assert seen.params["steps"] == 4, seen.params
assert model.predict_generator(batches(), steps=2).shape == (32, 2)
assert (model.predict_classes(x) == model.predict(x).argmax(-1)).all()
assert abs(K.get_value(model.optimizer.lr) - 0.1) < 1e-6

model.save("model.h5")
again = load_model("model.h5")
np.testing.assert_allclose(again.predict(x), model.predict(x), rtol=1e-5)


class Scale(Layer):
    def build(self, input_shape):
        self.scale = self.add_weight(name="scale", shape=(input_shape[1],), initializer="one")
        super().build(input_shape)

    def call(self, inputs):
        return inputs * self.scale


class Plain(Optimizer):
    def __init__(self, lr=0.01, **kwargs):
        super().__init__(**kwargs)
        self.iterations = K.variable(0, dtype="int64")
        self.lr = K.variable(lr)

    @interfaces.legacy_get_updates_support
    def get_updates(self, loss, params):
        gradients = self.get_gradients(loss, params)
        self.updates = [K.update_add(self.iterations, 1)]
        for variable, gradient in zip(params, gradients, strict=True):
            self.updates.append(K.update(variable, variable - self.lr * gradient))
        return self.updates


first, second = Input(shape=(6,)), Input(shape=(6,))
joined = merge([first, second], mode="concat")
both = Model(input=[first, second], output=add([Scale()(joined), joined]))
both.compile(Plain(lr=0.1), "mse")
rows = [x[:, 0, :, 0], x[:, 1, :, 0]]
losses = [float(both.train_on_batch(rows, np.zeros((64, 12)))) for _ in range(5)]
assert losses[-1] < losses[0], losses
function = K.function([first, second, K.learning_phase()], [both.output])
assert function([*rows, 0])[0].shape == (64, 12)
print("Keras", keras.__version__.split(".")[0], K.image_dim_ordering())
