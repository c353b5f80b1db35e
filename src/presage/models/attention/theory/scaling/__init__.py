"""Scaling laws of targets whose eigenvalues fall as a power of their rank."""
