"""Builds, from a model_fn and optimizers, the operation that makes one training step."""
