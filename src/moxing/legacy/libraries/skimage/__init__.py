"""scikit-image as it was before 0.19, for the modules of programs."""
