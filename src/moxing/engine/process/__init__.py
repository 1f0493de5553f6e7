"""This process among others: how it starts with them, hears signals, and ends."""
