"""What the program's modules see: faces of TensorFlow, OneFlow and others, and who gets them."""
