"""Shows gensim as it was before 4.0."""
