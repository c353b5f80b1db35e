"""A matrix without symmetry, seen through bilinear measurements."""
