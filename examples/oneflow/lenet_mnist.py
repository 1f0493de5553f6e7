"""LeNet on MNIST with OneFlow's job API: a train job, an evaluation job, the newest checkpoint.

    mox run examples/oneflow/lenet_mnist.py --data mnist --epochs 1

`--data` is a folder with MNIST's four files, packed or not. A run that finds a checkpoint in
`--model_dir` goes on from it.
"""

import argparse
import gzip
import os

import numpy as np
import oneflow as flow

parser = argparse.ArgumentParser()
parser.add_argument("--data", required=True)
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--batch", type=int, default=100)
parser.add_argument("--gpus", type=int, default=1)
parser.add_argument("--limit", type=int, default=0, help="images to train on; 0: all")
parser.add_argument("--model_dir", default="lenet_model")
args = parser.parse_args()


def read(name, offset):
    path = os.path.join(args.data, name)
    opener = gzip.open if os.path.exists(path + ".gz") else open
    with opener(path + ".gz" if opener is gzip.open else path, "rb") as file:
        return np.frombuffer(file.read(), np.uint8, offset=offset)


def load(part):
    images = read(part + "-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)
    labels = read(part + "-labels-idx1-ubyte", 8).astype(np.int32)
    return images.astype(np.float32) / 255.0, labels


def lenet(images):
    relu, normal = flow.nn.relu, flow.truncated_normal_initializer(0.0, 0.1)
    x = images
    for number, filters in enumerate((16, 32), 1):
        name = f"conv{number}"
        x = flow.layers.conv2d(
            x, filters, 5, padding="SAME", activation=relu, name=name, kernel_initializer=normal
        )
        x = flow.nn.max_pool2d(x, ksize=2, strides=2, padding="SAME", data_format="NCHW")
    x = flow.reshape(x, [x.shape[0], -1])
    x = flow.layers.dense(x, 128, activation=relu, kernel_initializer=normal, name="dense1")
    x = flow.nn.dropout(x, rate=0.3)
    return flow.layers.dense(x, 10, kernel_initializer=normal, name="dense2")


def train_config(steps):
    config = flow.function_config()
    config.default_data_type(flow.float)
    config.default_distribute_strategy(flow.distribute.consistent_strategy())
    config.train.primary_lr(0.001)
    config.train.model_update_conf(
        {
            "adam_conf": {"do_bias_correction": True},
            "learning_rate_decay": {"cosine_conf": {"decay_batches": steps, "alpha": 0.1}},
        }
    )
    return config


train_images, train_labels = load("train")
test_images, test_labels = load("t10k")
if args.limit:
    train_images, train_labels = train_images[: args.limit], train_labels[: args.limit]
steps = len(train_images) // args.batch
IMAGES = flow.FixedTensorDef((args.batch, 1, 28, 28))
LABELS = flow.FixedTensorDef((args.batch,), dtype=flow.int32)


@flow.global_function(train_config(max(1, steps * args.epochs)))
def train(images=IMAGES, labels=LABELS):
    loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, lenet(images))
    flow.losses.add_loss(loss)
    return loss


@flow.global_function(flow.function_config())
def evaluate(images=IMAGES, labels=LABELS):
    return {"labels": labels, "logits": lenet(images)}


def accuracy():
    right = total = 0
    for i in range(len(test_images) // args.batch):
        part = slice(i * args.batch, (i + 1) * args.batch)
        found = evaluate(test_images[part], test_labels[part]).get()
        right += int((found["logits"].argmax(1) == found["labels"]).sum())
        total += args.batch
    return right / total


flow.config.gpu_device_num(args.gpus)
manager = flow.train.SimpleCheckPointManager(args.model_dir)
manager.initialize_or_restore()
order = np.random.RandomState(1)
for epoch in range(args.epochs):
    losses = []  # Filled while the next steps run.
    shuffled = order.permutation(len(train_images))
    for i in range(steps):
        part = shuffled[i * args.batch : (i + 1) * args.batch]
        train(train_images[part], train_labels[part]).async_get(losses.append)
    manager.save()  # Behind all steps that were called.
    score = accuracy()
    print(f"epoch {epoch}: loss {np.mean(losses):.4f}, accuracy {score:.3f}")
