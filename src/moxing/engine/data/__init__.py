"""Turns an input_fn into batches for each device, starting at the right position in the data."""
