"""Shows nltk as it was before 3.3."""
