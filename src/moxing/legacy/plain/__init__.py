"""What plain `python` does with a program of TensorFlow 1.x, and how its text is recognized."""
