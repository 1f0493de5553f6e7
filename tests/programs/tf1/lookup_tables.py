"""Words by lookup tables, string_split and embedding_lookup_sparse: accuracy above 0.95."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(32)
words = ["red", "green", "blue", "one", "two"]
with open("vocab.txt", "w") as f:
    f.write("\n".join(words))
sentences = [" ".join(rng.choice(words + ["unknown"], rng.randint(2, 6))) for _ in range(300)]
targets = np.array([int("red" in s.split()) for s in sentences])

table = tf.contrib.lookup.index_table_from_file("vocab.txt", num_oov_buckets=1)
names = tf.contrib.lookup.index_to_string_table_from_tensor(["no", "yes"], default_value="?")
text = tf.placeholder(tf.string, [None])
label = tf.placeholder(tf.int64, [None])
tokens = tf.string_split(text)
ids = tf.SparseTensor(tokens.indices, table.lookup(tokens.values), tokens.dense_shape)
weights = tf.get_variable("words", [6, 8])
vectors = tf.nn.embedding_lookup_sparse(weights, ids, None, combiner="sum")
logits = tf.contrib.layers.fully_connected(
    tf.contrib.layers.fully_connected(vectors, 12), 2, activation_fn=None)
loss = tf.losses.sparse_softmax_cross_entropy(label, logits)
train = tf.train.AdamOptimizer(0.02).minimize(loss)
answer = names.lookup(tf.argmax(logits, 1))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(tf.tables_initializer())
    for _ in range(200):
        chosen = rng.choice(200, 40)
        sess.run(train, {text: [sentences[i] for i in chosen], label: targets[chosen]})
    answers = sess.run(answer, {text: sentences[200:]})
result = np.mean((answers == b"yes") == (targets[200:] == 1))
print("accuracy %.3f" % result)
assert set(answers) == {b"yes", b"no"} and result > 0.95
