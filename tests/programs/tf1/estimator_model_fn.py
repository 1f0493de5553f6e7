"""tf.estimator with a model_fn for three modes and feature columns: accuracy above 0.9."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(19)
size = rng.rand(300).astype(np.float32)
color = rng.choice(["red", "green", "blue"], 300)
label = ((size > 0.5) ^ (color == "red")).astype(np.int32)

columns = [
    tf.feature_column.numeric_column("size"),
    tf.feature_column.indicator_column(
        tf.feature_column.categorical_column_with_vocabulary_list(
            "color", ["red", "green", "blue"]))]


def input_fn(repeat):
    dataset = tf.data.Dataset.from_tensor_slices(({"size": size, "color": color}, label))
    return dataset.shuffle(300, seed=1).repeat(repeat).batch(30)


def model_fn(features, labels, mode, params):
    net = tf.feature_column.input_layer(features, params["columns"])
    net = tf.layers.dense(net, params["hidden"], activation=tf.nn.relu)
    logits = tf.layers.dense(net, 2)
    classes = tf.argmax(logits, 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"class": classes})
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    metrics = {"accuracy": tf.metrics.accuracy(labels, classes)}
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    train_op = tf.train.AdamOptimizer(0.03).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


estimator = tf.estimator.Estimator(
    model_fn, model_dir="model", params={"columns": columns, "hidden": 16},
    config=tf.estimator.RunConfig(tf_random_seed=19, save_checkpoints_steps=200))
estimator.train(lambda: input_fn(None), steps=200)
result = estimator.evaluate(lambda: input_fn(1))
predicted = [p["class"] for p in estimator.predict(lambda: input_fn(1))]
print(result)
assert result["global_step"] == 200 and len(predicted) == 300
assert result["accuracy"] > 0.9
