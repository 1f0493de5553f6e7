"""From an input_fn to the batches that each device sees, at the right place in the data."""
