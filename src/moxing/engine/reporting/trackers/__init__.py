"""Values of a training for experiment trackers that the user has installed: W&B and MLflow."""
