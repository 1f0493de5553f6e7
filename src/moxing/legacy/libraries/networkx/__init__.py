"""Shows networkx as it was in versions 1.11 to 2.4."""
