"""Keras as programs of 2016-2020 know it, on tf_keras: for the user's modules only."""
