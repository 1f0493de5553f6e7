"""Where programs import the messages of the record format from."""
