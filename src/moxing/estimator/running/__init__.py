"""Runs of an Estimator: the engine's jobs, their checkpoints and their results."""
