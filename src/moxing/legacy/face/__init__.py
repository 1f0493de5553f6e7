"""The modules that a program sees: faces of TensorFlow, OneFlow and others, and their users."""
