"""Matrix factorization of ratings that pandas holds, with append, ix and as_matrix: RMSE below 0.3."""
import numpy as np
import pandas as pd
import tensorflow as tf

rng = np.random.RandomState(26)
users, items = 20, 15
tastes, kinds = rng.randn(users, 2), rng.randn(items, 2)
df = pd.DataFrame({"user": [], "item": [], "rate": []})
rows = [{"user": u, "item": i, "rate": float(tastes[u].dot(kinds[i]))}
        for u in range(users) for i in range(items)]
df = df.append(rows, ignore_index=True)[["user", "item", "rate"]]
df["user"] = df["user"].astype(np.int32)
df["item"] = df["item"].astype(np.int32)
df = df.ix[rng.permutation(len(df))].reset_index(drop=True)
train, test = df.ix[:239], df.ix[240:]
assert len(train) == 240 and len(test) == 60 and train.as_matrix().shape == (240, 3)

user_batch = tf.placeholder(tf.int32, shape=[None], name="id_user")
item_batch = tf.placeholder(tf.int32, shape=[None], name="id_item")
rate_batch = tf.placeholder(tf.float32, shape=[None])
with tf.device("/cpu:0"):
    w_user = tf.get_variable("embd_user", shape=[users, 4],
                             initializer=tf.truncated_normal_initializer(stddev=0.3))
    w_item = tf.get_variable("embd_item", shape=[items, 4],
                             initializer=tf.truncated_normal_initializer(stddev=0.3))
    embd_user = tf.nn.embedding_lookup(w_user, user_batch)
    embd_item = tf.nn.embedding_lookup(w_item, item_batch)
infer = tf.reduce_sum(tf.multiply(embd_user, embd_item), 1)
regularizer = tf.add(tf.nn.l2_loss(embd_user), tf.nn.l2_loss(embd_item))
global_step = tf.contrib.framework.get_or_create_global_step()
cost = tf.add(tf.nn.l2_loss(tf.subtract(infer, rate_batch)), tf.multiply(regularizer, 0.005))
train_op = tf.train.AdamOptimizer(0.02).minimize(cost, global_step=global_step)


def feed(frame):
    return {user_batch: frame["user"], item_batch: frame["item"], rate_batch: frame["rate"]}


with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(400):
        sess.run(train_op, feed_dict=feed(train))
    predicted = sess.run(infer, feed(test))
rmse = np.sqrt(np.mean(np.power(predicted - test["rate"], 2)))
print("RMSE %.3f" % rmse)
assert rmse < 0.3
