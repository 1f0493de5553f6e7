"""`tf.contrib.gan`: a generator and a discriminator as one model, its losses and train steps."""
