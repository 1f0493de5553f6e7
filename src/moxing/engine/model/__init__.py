"""From a model_fn and optimizers to the operation that makes one training step."""
