"""Loads the exported digits model with plain TensorFlow 2 and classifies the test images.

    python predict.py EXPORT_FOLDER DATA_FOLDER

No moxing here: an export is an ordinary SavedModel, as TF Serving loads it.
"""

import gzip
import os
import sys

import numpy as np
import tensorflow as tf

SHADES = np.array(list(" .:-=+*#%@"))
SHOWN = (2, 5, 8)  # one image of each of these


def read_test(folder):
    """The test images [n, 28, 28, 1] in 0..1 and their labels [n]."""
    with gzip.open(os.path.join(folder, "t10k-images-idx3-ubyte.gz")) as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28, 1)
    with gzip.open(os.path.join(folder, "t10k-labels-idx1-ubyte.gz")) as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return images.astype(np.float32) / 255.0, labels


def drawn(image):
    """An image as 14 lines of text, two characters for four pixels."""
    small = image[:, :, 0].reshape(14, 2, 14, 2).mean(axis=(1, 3))
    shades = SHADES[np.rint(small * (len(SHADES) - 1)).astype(int)]
    return ["".join(np.repeat(row, 2)) for row in shades]


def main(export_folder, data_folder):
    images, labels = read_test(data_folder)
    # The model lives as long as this name: its signatures don't keep its variables alive.
    model = tf.saved_model.load(export_folder)
    answer = model.signatures["serving_default"](images=tf.constant(images))
    digits, scores = answer["digits"].numpy(), answer["scores"].numpy()

    shown = [int(np.argmax(labels == digit)) for digit in SHOWN]
    for rows in zip(*(drawn(images[i]) for i in shown), strict=True):
        print("   ".join(rows))
    captions = (f"{digits[i]} ({scores[i, digits[i]]:.1%} sure)" for i in shown)
    print("   ".join(f"{caption:^28}" for caption in captions))
    print(f"{np.sum(digits == labels)} of {len(labels)} test images are classified correctly.")


if __name__ == "__main__":
    main(*sys.argv[1:])
