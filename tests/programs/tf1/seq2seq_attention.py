"""contrib.seq2seq: attention, a training helper, greedy and beam search decoders: accuracy above 0.9."""
import numpy as np
import tensorflow as tf
from tensorflow.python.layers.core import Dense

rng = np.random.RandomState(39)
SYMBOLS, LENGTH, GO, EOS, UNITS = 8, 4, 0, 1, 32


def batch(size):
    x = rng.randint(2, SYMBOLS, (size, LENGTH))
    y = np.hstack([x[:, ::-1], np.full((size, 1), EOS)])
    return x, y


source = tf.placeholder(tf.int32, [None, LENGTH])
target = tf.placeholder(tf.int32, [None, LENGTH + 1])
size = tf.shape(source)[0]
encoder_table = tf.get_variable("encoder_table", [SYMBOLS, 12])
decoder_table = tf.get_variable("decoder_table", [SYMBOLS, 12])
with tf.variable_scope("encoder"):
    memory, encoder_state = tf.nn.dynamic_rnn(
        tf.contrib.rnn.GRUCell(UNITS), tf.nn.embedding_lookup(encoder_table, source),
        dtype=tf.float32)
projection = Dense(SYMBOLS, use_bias=False, name="projection")


def decoder(memory, state, lengths, size, reuse):
    with tf.variable_scope("decoder", reuse=reuse):
        attention = tf.contrib.seq2seq.LuongAttention(
            UNITS, memory, memory_sequence_length=lengths)
        cell = tf.contrib.seq2seq.AttentionWrapper(
            tf.contrib.rnn.GRUCell(UNITS), attention, attention_layer_size=UNITS)
        return cell, cell.zero_state(size, tf.float32).clone(cell_state=state)


lengths = tf.fill([size], LENGTH)
cell, start = decoder(memory, encoder_state, lengths, size, None)
given = tf.concat([tf.fill([size, 1], GO), target[:, :-1]], 1)
helper = tf.contrib.seq2seq.TrainingHelper(
    tf.nn.embedding_lookup(decoder_table, given), tf.fill([size], LENGTH + 1))
training = tf.contrib.seq2seq.BasicDecoder(cell, helper, start, output_layer=projection)
outputs, _, _ = tf.contrib.seq2seq.dynamic_decode(training, scope="decoder")
loss = tf.contrib.seq2seq.sequence_loss(
    outputs.rnn_output, target, tf.ones_like(target, dtype=tf.float32))
optimizer = tf.train.AdamOptimizer(0.01)
gvs = [(tf.clip_by_value(g, -5., 5.), v) for g, v in optimizer.compute_gradients(loss)
       if g is not None]
train = optimizer.apply_gradients(gvs)

greedy_helper = tf.contrib.seq2seq.GreedyEmbeddingHelper(decoder_table, tf.fill([size], GO), EOS)
greedy = tf.contrib.seq2seq.BasicDecoder(cell, greedy_helper, start, output_layer=projection)
greedy_out, _, _ = tf.contrib.seq2seq.dynamic_decode(
    greedy, maximum_iterations=LENGTH + 1, scope="decoder")

WIDTH = 3
tiled = [tf.contrib.seq2seq.tile_batch(part, WIDTH) for part in (memory, encoder_state, lengths)]
beam_cell, beam_start = decoder(tiled[0], tiled[1], tiled[2], size * WIDTH, True)
beam = tf.contrib.seq2seq.BeamSearchDecoder(
    beam_cell, decoder_table, tf.fill([size], GO), EOS, beam_start, WIDTH, output_layer=projection)
with tf.variable_scope(tf.get_variable_scope(), reuse=True):
    beam_out, _, _ = tf.contrib.seq2seq.dynamic_decode(
        beam, maximum_iterations=LENGTH + 1, scope="decoder")

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(250):
        x, y = batch(64)
        sess.run(train, {source: x, target: y})
    x, y = batch(100)
    one, best = sess.run([greedy_out.sample_id, beam_out.predicted_ids], {source: x})
results = [np.mean(found[:, :LENGTH] == y[:, :LENGTH]) for found in (one, best[:, :, 0])]
print("accuracy greedy %.3f, with beams %.3f" % tuple(results))
assert min(results) > 0.9
