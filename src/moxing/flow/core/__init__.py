"""The path by which programs import the messages of the record format."""
