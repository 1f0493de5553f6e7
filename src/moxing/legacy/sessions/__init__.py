"""Makes a program's own graphs and sessions work as under TensorFlow 1.x."""
