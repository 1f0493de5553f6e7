"""What graphs and sessions of a program's own need to work as under TensorFlow 1.x."""
