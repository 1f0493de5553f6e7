"""Where the object store is and how files are moved, as the environment and `set_auth` say."""
