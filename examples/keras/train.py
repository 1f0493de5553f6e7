"""A small convolutional network in Keras 3, trained on as many devices and processes as there are.

    python train.py                              this process alone
    mox launch --workers=2 train.py              two processes, the same result
    mox uai train --nodes=2 --data=D --output=O --code=. "train.py"

Data: MNIST's four files in --data_dir, or without it scikit-learn's handwritten digits.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

import keras
import numpy as np

import moxing.keras


def digits() -> tuple[Any, Any]:
    """Images of 8x8 and labels: 1,497 to train on, 300 to evaluate on."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32).reshape(-1, 8, 8, 1)
    return (images[:-300], labels[:-300]), (images[-300:], labels[-300:])


def mnist(folder: str) -> tuple[Any, Any]:
    """Images of 28x28 and labels: 60,000 to train on, 10,000 to evaluate on."""
    from moxing.framework import idx

    def split(name: str) -> tuple[np.ndarray, np.ndarray]:
        images = idx.read(os.path.join(folder, f"{name}-images-idx3-ubyte.gz"), idx.IMAGES)
        labels = idx.read(os.path.join(folder, f"{name}-labels-idx1-ubyte.gz"), idx.LABELS)
        return (images / 255).astype(np.float32)[..., None], labels.astype(np.int64)

    return split("train"), split("t10k")


def network(shape: tuple[int, ...]) -> keras.Model:
    """Two convolutions and two dense layers, compiled."""
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Input(shape),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_dir")
    parser.add_argument("--output_dir", default="output")
    parser.add_argument("--epochs", type=int, default=10)
    options, _ = parser.parse_known_args()

    train, test = mnist(options.data_dir) if options.data_dir else digits()
    keras.utils.set_random_seed(1)
    model = network(train[0].shape[1:])
    result = moxing.keras.fit(
        model,
        train,
        test,
        batch_size=64,
        epochs=options.epochs,
        output_dir=options.output_dir,
        seed=1,
    )
    if moxing.keras.is_chief():
        model.save(os.path.join(options.output_dir, "model.keras"))
        if result.history:
            print(f"accuracy on the test images: {result.history['val_accuracy'][-1]:.3f}")


if __name__ == "__main__":
    main()
