"""Object stores: what each must be able to do, and the stores that can do it."""
