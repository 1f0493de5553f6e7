"""The data sets that old programs read by name: MNIST's `input_data` and `keras.datasets`."""
