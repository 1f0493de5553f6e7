"""How files are read: the classes that `reader_class` takes."""
