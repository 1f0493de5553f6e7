"""Exports with SavedModelBuilder, loads by tags and signature: predictions within 0.1."""
import numpy as np
import tensorflow as tf

EXPORT = "export/1"
x = tf.placeholder(tf.float32, [None, 1], name="x")
hidden = tf.layers.dense(x, 24, tf.nn.tanh)
y = tf.layers.dense(hidden, 1)
wanted = tf.placeholder(tf.float32, [None, 1])
loss = tf.losses.mean_squared_error(wanted, y)
train = tf.train.AdamOptimizer(0.02).minimize(loss)
points = np.linspace(-2, 2, 80)[:, None]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(500):
        sess.run(train, {x: points, wanted: points ** 2})
    builder = tf.saved_model.builder.SavedModelBuilder(EXPORT)
    signature = tf.saved_model.signature_def_utils.build_signature_def(
        inputs={"x": tf.saved_model.utils.build_tensor_info(x)},
        outputs={"y": tf.saved_model.utils.build_tensor_info(y)},
        method_name=tf.saved_model.signature_constants.PREDICT_METHOD_NAME)
    builder.add_meta_graph_and_variables(
        sess, [tf.saved_model.tag_constants.SERVING], signature_def_map={"predict": signature},
        legacy_init_op=tf.group(tf.tables_initializer(), name="legacy_init_op"))
    builder.save()

with tf.Session(graph=tf.Graph()) as sess:
    meta = tf.saved_model.loader.load(sess, [tf.saved_model.tag_constants.SERVING], EXPORT)
    loaded = meta.signature_def["predict"]
    result = sess.run(loaded.outputs["y"].name, {loaded.inputs["x"].name: points})
error = np.abs(result - points ** 2).mean()
print("mean error %.3f" % error)
assert error < 0.1
