"""A small residual network on OFRecord parts with OneFlow's job API.

    mox convert flowers/train of/train --to=ofrecord --parts=4
    mox run examples/oneflow/resnet_ofrecord.py --train of/train --parts 4 --classes 5 -g 1

Residual blocks with batch norm, momentum with warm-up and decay, l2 on the weights, and
an evaluation job on the same variables, which uses the moving averages.
"""

import argparse
import time

import oneflow as flow

parser = argparse.ArgumentParser()
parser.add_argument("--train", required=True)
parser.add_argument("--eval", default="")
parser.add_argument("--parts", type=int, required=True)
parser.add_argument("--classes", type=int, required=True)
parser.add_argument("--size", type=int, default=64)
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--iterations", type=int, default=30)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("-g", "--gpu_num_per_node", type=int, default=1)
parser.add_argument("--save", default="")
parser.add_argument("--load", default="")
args = parser.parse_args()
FORMAT = "NCHW"


def load(folder):
    image = flow.data.BlobConf(
        "encoded",
        shape=(args.size, args.size, 3),
        dtype=flow.float,
        codec=flow.data.ImageCodec(
            [
                flow.data.ImagePreprocessor("bgr2rgb"),
                flow.data.ImageResizePreprocessor(args.size, args.size),
                flow.data.ImagePreprocessor("mirror"),
            ]
        ),
        preprocessors=[
            flow.data.NormByChannelPreprocessor((123.68, 116.78, 103.94), (58.4, 57.1, 57.4))
        ],
    )
    label = flow.data.BlobConf("class/label", (), flow.int32, flow.data.RawCodec())
    return flow.data.decode_ofrecord(
        folder, (image, label), batch_size=args.batch, data_part_num=args.parts, name="decode"
    )


def conv(x, filters, kernel, strides, name):
    weight = flow.get_variable(
        name + "-weight",
        shape=(filters, x.static_shape[1], kernel, kernel),
        dtype=x.dtype,
        initializer=flow.variance_scaling_initializer(2.0, "fan_in", "random_normal"),
    )
    return flow.nn.conv2d(x, weight, strides, "SAME", FORMAT, name=name)


def norm(x, name):
    return flow.layers.batch_normalization(x, axis=1, momentum=0.9, epsilon=1e-5, name=name)


def block(x, filters, strides, name):
    with flow.deprecated.variable_scope(name):
        shortcut = x
        if strides > 1 or x.static_shape[1] != filters:
            shortcut = norm(conv(x, filters, 1, strides, "shortcut"), "shortcut_bn")
        y = flow.keras.activations.relu(norm(conv(x, filters, 3, strides, "a"), "a_bn"))
        y = norm(conv(y, filters, 3, 1, "b"), "b_bn")
        return flow.keras.activations.relu(y + shortcut)


def network(images):
    x = flow.transpose(images, perm=[0, 3, 1, 2])
    x = flow.keras.activations.relu(norm(conv(x, 16, 5, 2, "stem"), "stem_bn"))
    x = flow.nn.max_pool2d(x, 3, 2, "SAME", FORMAT)
    for number, (filters, strides) in enumerate(((16, 1), (32, 2), (64, 2))):
        x = block(x, filters, strides, f"block{number}")
    x = flow.math.reduce_mean(x, axis=[2, 3])
    return flow.layers.dense(
        x, args.classes, kernel_initializer=flow.random_normal_initializer(0.0, 0.01), name="fc"
    )


@flow.function
def train_job():
    flow.config.train.primary_lr(args.lr)
    flow.config.train.weight_l2(1e-4)
    flow.config.train.model_update_conf(
        dict(
            momentum_conf=dict(beta=0.9),
            warmup_conf=dict(linear_conf=dict(warmup_batches=5, start_multiplier=0.1)),
            learning_rate_decay=dict(
                polynomial_conf=dict(decay_batches=max(10, args.iterations), power=2.0)
            ),
        )
    )
    images, labels = load(args.train)
    loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, network(images), name="loss")
    flow.losses.add_loss(loss)
    return loss


@flow.function
def eval_job():
    images, labels = load(args.eval or args.train)
    return network(images), labels


flow.config.gpu_device_num(args.gpu_num_per_node)
flow.config.default_data_type(flow.float)
flow.config.grpc_use_no_signal()
check_point = flow.train.CheckPoint()
check_point.load(args.load) if args.load else check_point.init()
start = [time.time()]


def report(number):
    def callback(loss):
        seconds, start[0] = time.time() - start[0], time.time()
        rate = 10 * args.batch / seconds
        print(f"{number:>4} loss {loss.mean():.4f} {rate:>6.0f} images/s")

    return callback


for i in range(args.iterations):
    handle = train_job()
    if i % 10 == 9:
        handle.async_get(report(i + 1))
right = count = 0
for _ in range(4):
    logits, labels = eval_job().get()
    right, count = right + int((logits.argmax(-1) == labels).sum()), count + len(labels)
print(f"accuracy {right / count:.3f} of {count} images")
if args.save:
    check_point.save(args.save)
