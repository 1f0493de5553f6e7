"""Keras models as Estimators."""
