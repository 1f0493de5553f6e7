"""A model function: how it is called, what it returns, and the updates taken out of it."""
