"""Runs of an Estimator: jobs for the engine, checkpoints, what comes back."""
