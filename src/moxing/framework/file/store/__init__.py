"""Object stores: their common protocol, and its implementations."""
