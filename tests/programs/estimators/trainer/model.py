"""The model of a trainer package: a network over columns, with metrics and signatures."""

import tensorflow as tf

LABELS = ["no", "yes"]
COLUMNS = {"size": tf.float32, "color": tf.string}


def features():
    color = tf.feature_column.categorical_column_with_vocabulary_list("color", ["red", "blue"])
    return [
        tf.feature_column.numeric_column("size"),
        tf.feature_column.embedding_column(color, 2),
    ]


def model_fn(mode, features, labels, params):
    layer = tf.feature_column.input_layer(features, params.columns)
    for units in params.hidden_units:
        layer = tf.layers.dense(layer, units, activation=tf.nn.relu)
    logits = tf.layers.dense(layer, len(LABELS))
    probabilities = tf.nn.softmax(logits)
    predicted = tf.argmax(probabilities, 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        names = tf.contrib.lookup.index_to_string_table_from_tensor(tf.constant(LABELS))
        predictions = {
            "predictions": names.lookup(predicted),
            "confidence": tf.reduce_max(probabilities, axis=1),
        }
        outputs = {"prediction": tf.estimator.export.PredictOutput(predictions)}
        return tf.estimator.EstimatorSpec(mode, predictions=predictions, export_outputs=outputs)
    table = tf.contrib.lookup.index_table_from_tensor(tf.constant(LABELS))
    label = table.lookup(labels)
    loss = tf.losses.sparse_softmax_cross_entropy(label, logits)
    if mode == tf.estimator.ModeKeys.TRAIN:
        optimizer = tf.train.AdagradOptimizer(params.learning_rate)
        train_op = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
    metrics = {
        "accuracy": tf.metrics.accuracy(label, predicted),
        "auroc": tf.metrics.auc(label, probabilities[:, 1]),
    }
    return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)


def json_serving_input_fn():
    fed = {name: tf.placeholder(kind, [None]) for name, kind in COLUMNS.items()}
    inside = {name: tf.expand_dims(tensor, -1) for name, tensor in fed.items()}
    return tf.estimator.export.ServingInputReceiver(inside, fed)
