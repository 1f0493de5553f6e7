"""The package `uaitrain` of UCloud's SDK, as programs that train with TensorFlow import it."""
