"""Programs written for Python 2: ported as they are imported, or told what to port."""
