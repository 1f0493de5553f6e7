"""Evaluates and predicts with Keras models on several devices."""
