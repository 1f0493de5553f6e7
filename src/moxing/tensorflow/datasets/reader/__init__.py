"""The classes for `reader_class`, which select how files are read."""
