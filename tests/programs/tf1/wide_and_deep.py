"""Wide and deep by hand: crossed hash buckets beside embeddings, from a DataFrame: accuracy above 0.9."""
import numpy as np
import pandas as pd
import tensorflow as tf

rng = np.random.RandomState(29)
frame = pd.DataFrame({"job": rng.choice(list("abcd"), 400), "town": rng.choice(list("xyz"), 400),
                      "age": rng.uniform(20, 60, 400)})
likes = {(j, t): rng.rand() > 0.5 for j in "abcd" for t in "xyz"}
target = np.array([likes[row.job, row.town] for row in frame.itertuples()], np.int32)

job = tf.feature_column.categorical_column_with_vocabulary_list("job", list("abcd"))
town = tf.feature_column.categorical_column_with_vocabulary_list("town", list("xyz"))
age = tf.feature_column.numeric_column("age")
buckets = tf.feature_column.bucketized_column(age, boundaries=[30, 40, 50])
crossed = tf.feature_column.crossed_column(["job", "town"], hash_bucket_size=200)
deep_columns = [tf.feature_column.embedding_column(job, 3),
                tf.feature_column.indicator_column(town), buckets]
one = tf.train.slice_input_producer(
    [tf.constant(frame[name].tolist()) for name in ("job", "town", "age")] + [tf.constant(target)],
    num_epochs=12, shuffle=True)
batch = tf.train.batch(one, batch_size=40)
features, labels = dict(zip(("job", "town", "age"), batch)), batch[3]
with tf.variable_scope("wide"):
    wide = tf.feature_column.linear_model(features, [crossed, buckets])
with tf.variable_scope("deep"):
    net = tf.feature_column.input_layer(features, deep_columns)
    deep = tf.layers.dense(tf.layers.dense(net, 12, activation=tf.nn.relu), 1)
logit = tf.squeeze(wide + deep, 1)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(
    logits=logit, labels=tf.to_float(labels)))
in_scope = tf.get_collection
wide_step = tf.train.FtrlOptimizer(0.5).minimize(
    loss, var_list=in_scope(tf.GraphKeys.TRAINABLE_VARIABLES, "wide"))
deep_step = tf.train.AdagradOptimizer(0.2).minimize(
    loss, var_list=in_scope(tf.GraphKeys.TRAINABLE_VARIABLES, "deep"))
right = tf.reduce_mean(tf.to_float(tf.equal(logit > 0, labels > 0)))
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer(),
              tf.tables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=sess, coord=coord)
    values = []
    try:
        while True:
            values.append(sess.run([right, wide_step, deep_step])[0])
    except tf.errors.OutOfRangeError:
        coord.request_stop()
    coord.join(threads)
print("accuracy %.3f after %d steps" % (np.mean(values[-10:]), len(values)))
assert len(values) == 120
assert np.mean(values[-10:]) > 0.9
