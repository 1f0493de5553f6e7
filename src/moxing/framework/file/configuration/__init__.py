"""The settings of the object store and of transfers, from the environment and `set_auth`."""
