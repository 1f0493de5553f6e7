"""Changes the operations of a graph: their types, their gradients, their random numbers."""
